"""Who asks Glue: four ways to say it, and a role's session that is renewed before it ends."""

from __future__ import annotations

import pickle
import time
from typing import Any

import pytest
from moto.sts.models import sts_backends

from lanceway.catalogs import GlueCatalog
from lanceway.errors import InvalidInputError, UnauthenticatedError
from tests.catalogs.glue.glue_helpers import connect, database, namespaces
from tests.servers.moto import KEY, REGION, SECRET, Glue

OTHER = "210987654321"
ROLE = {
    "assume_role_arn": f"arn:aws:iam::{OTHER}:role/reader",
    "assume_role_external_id": "partner-7",
    "assume_role_session_name": "nightly",
    "assume_role_timeout_sec": "900",
    "assume_role_region": "eu-west-1",
}
AWS_VARIABLES = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_DEFAULT_REGION")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    """No credentials of anybody's, and no machine to ask for them."""
    for name in (*AWS_VARIABLES, "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", f"{tmp_path}/config")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", f"{tmp_path}/credentials")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def bare(glue: Glue, **settings: Any) -> GlueCatalog:
    return GlueCatalog(endpoint=glue.endpoint, region=REGION, **settings)


@pytest.fixture
def sts(glue: Glue, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The sessions that the server has given out for the role."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", glue.endpoint)
    roles: list[Any] = sts_backends[OTHER]["aws"].assumed_roles
    roles.clear()
    return roles


# -- four ways -----------------------------------------------------------------------------------


def test_the_default_chain(glue: Glue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAFROMENVIRONMENT1")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
    assert namespaces(bare(glue)) == []
    assert set(glue.state.keys) == {"AKIAFROMENVIRONMENT1"}


def test_static_keys_come_before_the_environment(glue: Glue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAFROMENVIRONMENT1")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
    namespaces(bare(glue, access_key_id=KEY, secret_access_key=SECRET))
    assert set(glue.state.keys) == {KEY}


def test_temporary_keys(glue: Glue) -> None:
    credentials = glue.client("sts").assume_role(RoleArn=ROLE["assume_role_arn"], RoleSessionName="here")["Credentials"]
    database(glue)
    catalog = bare(
        glue,
        access_key_id=credentials["AccessKeyId"],
        secret_access_key=credentials["SecretAccessKey"],
        session_token=credentials["SessionToken"],
    )
    assert namespaces(catalog) == []  # of the role's own account
    assert glue.state.keys[-1] == credentials["AccessKeyId"]


def test_an_assumed_role(glue: Glue, sts: list[Any]) -> None:
    database(glue)
    catalog = bare(glue, access_key_id=KEY, secret_access_key=SECRET, **ROLE)
    assert namespaces(catalog) == []
    (session,) = sts
    assert (session.role_arn, session.external_id) == (ROLE["assume_role_arn"], "partner-7")
    assert (session.session_name, session.region_name) == ("nightly", "eu-west-1")
    lasts = session.expiration - session.access_key.create_date.replace(tzinfo=session.expiration.tzinfo)
    assert 890 < lasts.total_seconds() < 910
    assert set(glue.state.keys[1:]) == {session.access_key_id}


def test_a_role_may_be_assumed_from_the_default_chain(
    glue: Glue, sts: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAFROMENVIRONMENT1")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
    assert namespaces(bare(glue, assume_role_arn=ROLE["assume_role_arn"])) == []
    assert [session.session_name for session in sts] == ["lanceway"]


# -- renewal -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_session_is_renewed_before_it_ends_and_no_request_fails(glue: Glue, sts: list[Any]) -> None:
    """The server refuses a session that has expired, and gives out sessions of three seconds."""
    glue.state.session_seconds = 3
    with bare(glue, access_key_id=KEY, secret_access_key=SECRET, **ROLE) as catalog:
        while len(set(glue.state.keys)) < 4:
            assert namespaces(catalog) == []
            time.sleep(0.05)
    assert len(sts) < len(glue.state.keys), "a session was renewed for every request"


def test_the_server_would_have_refused_an_expired_session(glue: Glue, sts: list[Any]) -> None:
    glue.state.session_seconds = 0.5
    credentials = glue.client("sts").assume_role(RoleArn=ROLE["assume_role_arn"], RoleSessionName="here")["Credentials"]
    time.sleep(1)
    expired = bare(
        glue,
        access_key_id=credentials["AccessKeyId"],
        secret_access_key=credentials["SecretAccessKey"],
        session_token=credentials["SessionToken"],
    )
    with pytest.raises(UnauthenticatedError, match="ExpiredTokenException"):
        namespaces(expired)


def test_a_long_session_is_kept(glue: Glue, sts: list[Any]) -> None:
    with bare(glue, access_key_id=KEY, secret_access_key=SECRET, **ROLE) as catalog:
        for _ in range(5):
            namespaces(catalog)
    assert len(sts) == 1


# -- mistakes ------------------------------------------------------------------------------------


def test_without_credentials_nobody_asks(glue: Glue) -> None:
    with pytest.raises(UnauthenticatedError, match="no AWS credentials"):
        namespaces(bare(glue))


def test_without_a_region_there_is_nowhere_to_ask() -> None:
    with pytest.raises(InvalidInputError, match="Set region"):
        namespaces(GlueCatalog(access_key_id=KEY, secret_access_key=SECRET))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"access_key_id": KEY}, "belong together"),
        ({"secret_access_key": SECRET}, "belong together"),
        ({"session_token": "hush"}, "session_token needs"),
        ({"assume_role_external_id": "x"}, "Set assume_role_arn"),
        ({"assume_role_timeout_sec": "60"}, "AWS allows 900 to 43200"),
        ({"assume_role_timeout_sec": "soon"}, "must be a whole number"),
        ({"hierarchy": "flat"}, "must be one of catalogs, databases"),
        ({"endpoint": "glue.example.com"}, "must be a URL"),
        ({"endpoint": "https://user:secret@glue"}, "holds a user"),
        ({"profile_name": "x"}, "no setting 'profile_name'"),
    ],
)
def test_settings_that_do_not_fit_are_refused_at_once(settings: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as refused:
        GlueCatalog(**settings)
    assert "secret" not in str(refused.value).replace("secret_access_key", "")


# -- identity ------------------------------------------------------------------------------------


def test_secrets_are_shown_nowhere(glue: Glue) -> None:
    secrets = {"secret_access_key": "hush-1", "session_token": "hush-2", "assume_role_external_id": "hush-3"}
    catalog = bare(glue, access_key_id=KEY, assume_role_arn=ROLE["assume_role_arn"], **secrets)
    shown = repr(catalog) + str(catalog) + catalog.namespace_id()
    assert "hush" not in shown
    assert pickle.loads(pickle.dumps(catalog)) == catalog


def test_who_asks_is_part_of_the_identity(glue: Glue, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [connect(glue).namespace_id(), connect(glue, access_key_id="AKIAOTHER").namespace_id()]
    ids.append(bare(glue).namespace_id())
    for key in ("AKIAFROMENVIRONMENT1", "AKIAFROMENVIRONMENT2"):
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
        ids.append(bare(glue).namespace_id())
    assert len(set(ids)) == len(ids)
    assert bare(glue).namespace_id() == ids[-1]


# -- regions and profiles ------------------------------------------------------------------------


def test_a_missing_region_names_the_variable_that_is_read(glue: Glue, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = GlueCatalog(endpoint=glue.endpoint, access_key_id=KEY, secret_access_key=SECRET)
    with pytest.raises(InvalidInputError, match="AWS_DEFAULT_REGION"):
        namespaces(catalog)
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    assert namespaces(catalog) == []


@pytest.mark.parametrize("region", ["no region", "eu_central_1", "-x"])
def test_a_region_that_cannot_be_one_is_bad_input(glue: Glue, region: str) -> None:
    with pytest.raises(InvalidInputError, match="region"):
        namespaces(connect(glue, region=region))


def test_a_profile_that_is_missing_is_told_by_the_first_call_and_not_by_the_id(
    glue: Glue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nowhere")
    catalog = bare(glue)
    assert catalog.namespace_id() == bare(glue).namespace_id()
    assert isinstance(hash(catalog), int)
    with pytest.raises(UnauthenticatedError, match="ProfileNotFound"):
        namespaces(catalog)
