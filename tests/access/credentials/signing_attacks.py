"""Requests to S3 that lead out of a table, or make something of it that others did not mean it to be."""

from __future__ import annotations

from tests.servers.seaweedfs import S3

# A method, an address with {base} for the endpoint, {bucket}, {root} for the folder around the table and {name} for the
# table's own, and headers. {host} is the address without its scheme. Beside the table is a `secret`.
Attack = tuple[str, str, dict[str, str]]

_T = "{base}/{bucket}/{root}/{name}"
ATTACKS: dict[str, Attack] = {
    "another object": ("GET", "{base}/{bucket}/{root}/secret/file", {}),
    "a neighbour whose name begins alike": ("GET", "{base}/{bucket}/{root}/{name}2/secret", {}),
    "the folder itself": ("GET", _T, {}),
    "dots": ("GET", _T + "/../secret/file", {}),
    "dots at the end": ("GET", _T + "/..", {}),
    "a single dot": ("GET", _T + "/./data/1.parquet", {}),
    "encoded dots": ("GET", _T + "/%2e%2E/secret/file", {}),
    "encoded slashes": ("GET", _T + "%2F..%2Fsecret%2Ffile", {}),
    "dots encoded twice": ("GET", _T + "/%252e%252e/secret/file", {}),
    "slashes encoded twice": ("GET", _T + "/..%252Fsecret%252Ffile", {}),
    "dots encoded four times": ("GET", _T + "/%2525252e%2525252e/secret/file", {}),
    "too many encodings": ("GET", _T + "/%" + "25" * 20 + "2e", {}),
    "backslashes": ("GET", _T + "/..%5C..%5Csecret", {}),
    "an empty part": ("GET", _T + "//data/1.parquet", {}),
    "an empty part before the bucket": ("GET", "{base}//{bucket}/{root}/{name}/data/1.parquet", {}),
    "bytes that are no UTF-8": ("GET", _T + "/%ff%fe", {}),
    "a null": ("GET", _T + "/data%00/1", {}),
    "a line feed": ("GET", _T + "/data%0a1", {}),
    "a space": ("GET", _T + "/a b", {}),
    "a letter beyond ASCII": ("GET", _T + "/ü", {}),
    "a fragment": ("GET", _T + "/data/1.parquet#x", {}),
    "another bucket": ("GET", "{base}/{bucket}2/{root}/{name}/data/1.parquet", {}),
    "the bucket in the host, where the storage does not know such": (
        "GET",
        "http://{bucket}.{host}/{root}/{name}/data/1.parquet",
        {},
    ),
    "another host": ("GET", "http://example.com/{bucket}/{root}/{name}/data/1.parquet", {}),
    "a host that ends alike": ("GET", "http://x{host}/{bucket}/{root}/{name}/data/1.parquet", {}),
    "another port": ("GET", "http://127.0.0.1:1/{bucket}/{root}/{name}/data/1.parquet", {}),
    "no port": ("GET", "http://127.0.0.1/{bucket}/{root}/{name}/data/1.parquet", {}),
    "another scheme": ("GET", "https://{host}/{bucket}/{root}/{name}/data/1.parquet", {}),
    "no scheme": ("GET", "{host}/{bucket}/{root}/{name}/data/1.parquet", {}),
    "a user in the address": ("GET", "http://a@{host}/{bucket}/{root}/{name}/data/1.parquet", {}),
    "a host before a user": ("GET", "http://{host}@example.com/{bucket}/{root}/{name}/data/1.parquet", {}),
    "a host header of another": ("GET", _T + "/data/1.parquet", {"Host": "example.com"}),
    "no list of the bucket": ("GET", "{base}/{bucket}?list-type=2", {}),
    "a list of all": ("GET", "{base}/{bucket}?list-type=2&prefix=", {}),
    "a list around the table": ("GET", "{base}/{bucket}?list-type=2&prefix={root}%2F", {}),
    "a list of names that begin alike": ("GET", "{base}/{bucket}?list-type=2&prefix={root}%2F{name}", {}),
    "a list by dots": ("GET", "{base}/{bucket}?list-type=2&prefix={root}%2F{name}%2F..%2Fsecret%2F", {}),
    "a list with two prefixes": (
        "GET",
        "{base}/{bucket}?list-type=2&prefix={root}%2F{name}%2F&prefix={root}%2Fsecret%2F",
        {},
    ),
    "a list with a prefix of another case": ("GET", "{base}/{bucket}?list-type=2&Prefix={root}%2F{name}%2F", {}),
    "a list from elsewhere": ("GET", "{base}/{bucket}?list-type=2&prefix={root}%2F{name}%2F&start-after=a", {}),
    "a list of versions": ("GET", "{base}/{bucket}?versions&prefix={root}%2F{name}%2F", {}),
    "a list of uploads": ("GET", "{base}/{bucket}?uploads&prefix={root}%2F{name}%2F", {}),
    "an older list": ("GET", "{base}/{bucket}?prefix={root}%2F{name}%2F", {}),
    "all buckets": ("GET", "{base}/", {}),
    "the policy of the bucket": ("GET", "{base}/{bucket}?policy", {}),
    "a new policy": ("PUT", "{base}/{bucket}?policy", {}),
    "a new bucket": ("PUT", "{base}/{bucket}", {}),
    "no bucket": ("DELETE", "{base}/{bucket}", {}),
    "a form": ("POST", "{base}/{bucket}", {}),
    "many deletes": ("POST", "{base}/{bucket}?delete", {}),
    "many deletes in the table": ("POST", _T + "/data/1.parquet?delete", {}),
    "who may do what": ("GET", _T + "/data/1.parquet?acl", {}),
    "others may do more": ("PUT", _T + "/data/1.parquet?acl", {}),
    "tags": ("PUT", _T + "/data/1.parquet?tagging", {}),
    "retention": ("PUT", _T + "/data/1.parquet?retention", {}),
    "a query in SQL": ("POST", _T + "/data/1.parquet?select&select-type=2", {}),
    "a restore": ("POST", _T + "/data/1.parquet?restore", {}),
    "a version": ("GET", _T + "/data/1.parquet?versionId=1", {}),
    "the end of a version": ("DELETE", _T + "/data/1.parquet?versionId=1", {}),
    "a part of no upload": ("PUT", _T + "/data/1.parquet?partNumber=1", {}),
    "an upload elsewhere": ("PUT", _T + "/data/1.parquet?partNumber=1&uploadId=..%2F..%2Fsecret", {}),
    "a parameter twice": ("PUT", _T + "/data/1?partNumber=1&uploadId=a&uploadId=b", {}),
    "a parameter behind a semicolon": ("GET", _T + "/data/1.parquet?x-id=a;acl", {}),
    "a plus for a space": ("GET", "{base}/{bucket}?list-type=2&prefix={root}%2F{name}%2Fa+b", {}),
    "an answer that pretends": ("GET", _T + "/data/1.parquet?response-content-type=text%2Fhtml", {}),
    "signed by its query": ("GET", _T + "/data/1.parquet?X-Amz-Signature=a&X-Amz-Expires=604800", {}),
    "another method": ("PATCH", _T + "/data/1.parquet", {}),
    "a method in small letters": ("get", _T + "/data/1.parquet", {}),
    "copied from elsewhere": ("PUT", _T + "/data/2", {"x-amz-copy-source": "/{bucket}/{root}/secret/file"}),
    "copied from a neighbour": ("PUT", _T + "/data/2", {"x-amz-copy-source": "/{bucket}/{root}/{name}2/secret"}),
    "copied by dots": ("PUT", _T + "/data/2", {"X-Amz-Copy-Source": "{bucket}/{root}/{name}/../secret/file"}),
    "copied by encoded dots": (
        "PUT",
        _T + "/data/2",
        {"X-Amz-Copy-Source": "%2F{bucket}%2F{root}%2F{name}%2F%252e%252e%2Fsecret%2Ffile"},
    ),
    "copied from another bucket": ("PUT", _T + "/data/2", {"x-amz-copy-source": "other/{root}/{name}/data/1.parquet"}),
    "copied from an access point": (
        "PUT",
        _T + "/data/2",
        {"x-amz-copy-source": "arn:aws:s3:::accesspoint/a/object/{root}/{name}/data/1.parquet"},
    ),
    "copied from a version": (
        "PUT",
        _T + "/data/2",
        {"x-amz-copy-source": "/{bucket}/{root}/{name}/data/1.parquet?versionId=1"},
    ),
    "a copied part from elsewhere": (
        "PUT",
        _T + "/data/2?partNumber=1&uploadId=a",
        {"x-amz-copy-source": "/{bucket}/{root}/secret/file"},
    ),
    "no copy": ("GET", _T + "/data/1.parquet", {"x-amz-copy-source": "/{bucket}/{root}/{name}/data/1.parquet"}),
    "two copy sources": ("PUT", _T + "/data/2", {"x-amz-copy-source": "a", "X-Amz-Copy-Source": "b"}),
    "open to all": ("PUT", _T + "/data/2", {"x-amz-acl": "public-read"}),
    "granted to others": (
        "PUT",
        _T + "/data/2",
        {"x-amz-grant-read": "uri=http://acs.amazonaws.com/groups/global/AllUsers"},
    ),
    "tagged": ("PUT", _T + "/data/2", {"x-amz-tagging": "a=b"}),
    "led elsewhere": ("PUT", _T + "/data/2", {"x-amz-website-redirect-location": "http://example.com"}),
    "past retention": ("DELETE", _T + "/data/1.parquet", {"x-amz-bypass-governance-retention": "true"}),
    "as another": ("GET", _T + "/data/1.parquet", {"x-amz-security-token": "a"}),
    "at another time": ("GET", _T + "/data/1.parquet", {"x-amz-date": "20991231T000000Z"}),
    "signed already": ("GET", _T + "/data/1.parquet", {"Authorization": "AWS4-HMAC-SHA256 …"}),
    "signed in chunks": ("PUT", _T + "/data/2", {"x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"}),
    "in chunks without a trailer": (
        "PUT",
        _T + "/data/2",
        {"x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "content-encoding": "aws-chunked"},
    ),
    "in chunks, secretly": ("PUT", _T + "/data/2", {"content-encoding": "aws-chunked"}),
    "a header in a header": ("PUT", _T + "/data/2", {"content-type": "a\r\nx-amz-acl: public-read"}),
    "a name with a line feed": ("PUT", _T + "/data/2", {"content-type\r\nx-amz-acl": "public-read"}),
    "an address without end": ("GET", _T + "/" + "a" * 9000, {}),
}


def on(attack: Attack, s3: S3, location: str) -> Attack:
    """An attack on the table at a location."""
    root, _, name = location.partition("://")[2].partition("/")[2].rpartition("/")
    names = {
        "base": s3.endpoint,
        "host": s3.endpoint.removeprefix("http://"),
        "bucket": s3.bucket,
        "root": root,
        "name": name,
    }
    method, uri, headers = attack
    return method, uri.format(**names), {name: value.format(**names) for name, value in headers.items()}
