package org.apache.hadoop.hive.metastore;

import java.net.InetSocketAddress;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.metastore.api.ThriftHiveMetastore;
import org.apache.hadoop.hive.metastore.conf.MetastoreConf;
import org.apache.thrift.server.TThreadPoolServer;
import org.apache.thrift.transport.TServerSocket;

/** A Hive Metastore of version 3 that listens on loopback alone; its own main program listens on every address. */
public class LoopbackHive3 {
  public static void main(String[] arguments) throws Exception {
    Configuration settings = MetastoreConf.newMetastoreConf();
    ThriftHiveMetastore.Iface handler = HiveMetaStore.newRetryingHMSHandler("suite", settings, false);
    InetSocketAddress address = new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0]));
    TThreadPoolServer.Args server = new TThreadPoolServer.Args(new TServerSocket(address));
    new TThreadPoolServer(server.processor(new TSetIpAddressProcessor<>(handler))).serve();
  }
}
