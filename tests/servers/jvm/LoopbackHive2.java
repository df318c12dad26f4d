package org.apache.hadoop.hive.metastore;

import java.net.InetSocketAddress;
import java.util.List;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.api.FileMetadataExprType;
import org.apache.hadoop.hive.metastore.api.ThriftHiveMetastore;
import org.apache.hadoop.hive.ql.io.sarg.SearchArgument;
import org.apache.hadoop.hive.serde2.typeinfo.PrimitiveTypeInfo;
import org.apache.thrift.server.TThreadPoolServer;
import org.apache.thrift.transport.TServerSocket;

/** A Hive Metastore of version 2 that listens on loopback alone; its own main program listens on every address. */
public class LoopbackHive2 {
  public static void main(String[] arguments) throws Exception {
    HiveConf settings = new HiveConf(HiveMetaStore.class);
    ThriftHiveMetastore.Iface handler = HiveMetaStore.newRetryingHMSHandler("suite", settings, false);
    InetSocketAddress address = new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0]));
    TThreadPoolServer.Args server = new TThreadPoolServer.Args(new TServerSocket(address));
    new TThreadPoolServer(server.processor(new TSetIpAddressProcessor<>(handler))).serve();
  }

  /** The metastore asks for a class that reads filters on partitions, which no Lance table has. */
  public static class NoExpressions implements PartitionExpressionProxy {
    @Override
    public String convertExprToFilter(byte[] expression) {
      throw new UnsupportedOperationException();
    }

    @Override
    public boolean filterPartitionsByExpr(
        List<String> names, List<PrimitiveTypeInfo> types, byte[] expression, String absent, List<String> partitions) {
      throw new UnsupportedOperationException();
    }

    @Override
    public FileMetadataExprType getMetadataType(String inputFormat) {
      return null;
    }

    @Override
    public FileFormatProxy getFileFormatProxy(FileMetadataExprType type) {
      return null;
    }

    @Override
    public SearchArgument createSarg(byte[] expression) {
      return null;
    }
  }
}
