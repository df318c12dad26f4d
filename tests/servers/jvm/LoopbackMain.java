package org.apache.iceberg.rest;

import java.net.InetSocketAddress;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.catalog.Catalog;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

/** Iceberg's own REST catalog for tests, on loopback alone: LoopbackMain PORT WAREHOUSE DATABASE. */
public class LoopbackMain {
  private LoopbackMain() {}

  /** Local folders, without the program that Hadoop starts to set the permissions of each file. */
  public static class Folders extends LocalFileSystem {
    public Folders() {
      super(
          new RawLocalFileSystem() {
            @Override
            public void setPermission(Path path, FsPermission permission) {}
          });
    }
  }

  public static void main(String[] arguments) throws Exception {
    Map<String, String> properties =
        Map.of(
            "catalog-impl", "org.apache.iceberg.jdbc.JdbcCatalog",
            // Nothing here need survive the machine: no waiting for the disk.
            "uri", "jdbc:sqlite:" + arguments[2] + "?synchronous=OFF&journal_mode=MEMORY",
            "jdbc.schema-version", "V1",
            // As Iceberg's own image has it: no table in a namespace that is not there.
            "jdbc.strict-mode", "true",
            // SQLite has one writer: a second connection would find the database locked.
            "clients", "1",
            "warehouse", arguments[1]);
    Configuration configuration = new Configuration();
    configuration.set("fs.file.impl", Folders.class.getName());
    Catalog catalog = CatalogUtil.buildIcebergCatalog("rest", properties, configuration);
    ServletContextHandler context = new ServletContextHandler();
    context.addServlet(
        new ServletHolder(new RESTCatalogServlet(new RESTCatalogAdapter(catalog))), "/*");
    Server server = new Server(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])));
    server.setHandler(context);
    server.start();
    server.join();
  }
}
