package lance;

import static java.util.stream.Collectors.partitioningBy;

import io.lanceway.spark.Filters;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownFilters;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceCreationResult;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonScanBuilder;
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;

/**
 * {@code format("lance")}: Spark's own way to the source in Python, with filters that hold for one scan.
 *
 * <p>Spark keeps what was planned with a scan's filters in the source, which all scans of a data frame share: later scans
 * without those filters lack rows. Here a scan with filters has a source of its own. Spark finds this class by the name
 * of its package, before it looks for sources in Python. The decision is explained in docs/decisions/018.
 */
public class DefaultSource extends PythonDataSourceV2 {
  private static final String FORMAT = "lance";
  private static final String PUSHDOWN = "spark.sql.python.filterPushdown.enabled";
  // Tells the source in Python that it may take filters (source.py).
  private static final String OPTION = "scans_apart";

  @Override
  public PythonDataSourceCreationResult getOrCreateDataSourceInPython(
      String name, CaseInsensitiveStringMap options, Option<StructType> schema) {
    Map<String, String> all = new HashMap<>(options.asCaseSensitiveMap());
    all.put(OPTION, "true");
    return super.getOrCreateDataSourceInPython(name, new CaseInsensitiveStringMap(all), schema);
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new PythonTable(this, FORMAT, schema) {
      @Override
      public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        return new Scans(DefaultSource.this, schema, options);
      }
    };
  }

  private static final class Scans implements SupportsPushDownFilters {
    private final DefaultSource shared;
    private final StructType schema;
    private final CaseInsensitiveStringMap options;
    private PythonScanBuilder builder;

    Scans(DefaultSource shared, StructType schema, CaseInsensitiveStringMap options) {
      this.shared = shared;
      this.schema = schema;
      this.options = options;
      // Without filters every scan reads the same, so that it is planned once.
      builder = over(shared);
    }

    private PythonScanBuilder over(PythonDataSourceV2 source) {
      return (PythonScanBuilder) new PythonTable(source, FORMAT, schema).newScanBuilder(options);
    }

    /** Spark's setting is for all sources in Python, to which it is a danger: it is on for this call alone. */
    @Override
    public Filter[] pushFilters(Filter[] filters) {
      Map<Boolean, List<Filter>> beyond = Stream.of(filters).collect(partitioningBy(Filters::isBeyondPython));
      builder = over(new Apart(shared));
      SQLConf conf = SQLConf.get().clone();
      conf.setConfString(PUSHDOWN, "true");
      Filter[] offered = beyond.get(false).toArray(Filter[]::new);
      Filter[] left = SQLConf.withExistingConf(conf, () -> builder.pushFilters(offered));
      // Spark could not hand the others over to Python, and evaluates them itself.
      return Stream.concat(Stream.of(left), beyond.get(true).stream()).toArray(Filter[]::new);
    }

    @Override
    public Filter[] pushedFilters() {
      return builder.pushedFilters();
    }

    @Override
    public Scan build() {
      return builder.build();
    }
  }

  /** The same source in Python, and a place of its own for what is planned with it. */
  private static final class Apart extends PythonDataSourceV2 {
    private final DefaultSource shared;

    Apart(DefaultSource shared) {
      this.shared = shared;
      setShortName(FORMAT);
    }

    @Override
    public UserDefinedPythonDataSource source() {
      return shared.source();
    }

    @Override
    public PythonDataSourceCreationResult getOrCreateDataSourceInPython(
        String name, CaseInsensitiveStringMap options, Option<StructType> schema) {
      return shared.getOrCreateDataSourceInPython(name, options, schema);
    }
  }
}
