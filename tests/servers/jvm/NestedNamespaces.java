package org.apache.iceberg.rest;

import org.apache.iceberg.catalog.TableIdentifier;

/**
 * The kit's tests of catalogs, with those of nested namespaces, which the kit itself leaves out, and with the locations
 * that it asks for in the folder for temporary files.
 */
public class NestedNamespaces extends RESTCompatibilityKitCatalogTests {
  @Override
  protected boolean supportsNestedNamespaces() {
    return true;
  }

  @Override
  protected String baseTableLocation(TableIdentifier identifier) {
    String folder = System.getProperty("java.io.tmpdir");
    return "file:" + folder + "/" + identifier.namespace() + "/" + identifier.name();
  }
}
