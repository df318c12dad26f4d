package io.lanceway.spark;

import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.analysis.NamespaceAlreadyExistsException;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.NonEmptyNamespaceException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.Identifier;

/** A catalog's no: a code of the Lance Namespace contract and its sentence, to become one of Spark's exceptions. */
final class Refusal extends Exception {
  private final int code;
  private final String condition;

  Refusal(int code, String condition, String message) {
    super(message, null, false, false);
    this.code = code;
    this.condition = condition;
  }

  static Refusal unsupported(String message) {
    return new Refusal(0, "UNSUPPORTED", message);
  }

  /** Whether the table or the namespace that holds it is not there. */
  boolean isMissing() {
    return code == 1 || code == 4;
  }

  boolean isNamespaceMissing() {
    return code == 1;
  }

  boolean isTaken() {
    return code == 5;
  }

  /** Throws what Spark knows for it, about a table; Spark catches some of these and says it in its own words. */
  RuntimeException about(Identifier table) {
    return thrown(switch (code) {
      case 1, 4 -> noSuchTable(table);
      case 5 -> new TableAlreadyExistsException(table) {
        @Override
        public String getMessage() {
          return said(super.getMessage());
        }
      };
      default -> refused();
    });
  }

  NoSuchTableException noSuchTable(Identifier table) {
    return new NoSuchTableException(table) {
      @Override
      public String getMessage() {
        return said(super.getMessage());
      }
    };
  }

  /** Throws what Spark knows for it, about a namespace. */
  RuntimeException about(String[] namespace) {
    return thrown(switch (code) {
      case 1 -> new NoSuchNamespaceException(namespace) {
        @Override
        public String getMessage() {
          return said(super.getMessage());
        }
      };
      case 2 -> new NamespaceAlreadyExistsException(namespace) {
        @Override
        public String getMessage() {
          return said(super.getMessage());
        }
      };
      case 3 -> new NonEmptyNamespaceException(namespace) {
        @Override
        public String getMessage() {
          return said(super.getMessage());
        }
      };
      default -> refused();
    });
  }

  /** Throws it as it is. */
  RuntimeException plain() {
    return thrown(refused());
  }

  private AnalysisException refused() {
    return Internals.refused("LANCEWAY_" + condition, state(), getMessage());
  }

  /** Spark's exceptions are checked ones, and its interfaces declare but a few of them. */
  @SuppressWarnings("unchecked")
  private static <E extends Throwable> RuntimeException thrown(Throwable exception) throws E {
    throw (E) exception;
  }

  private String said(String bySpark) {
    return bySpark + " " + getMessage();
  }

  private String state() {
    return switch (code) {
      case 0 -> "0A000";
      case 15 -> "42501";
      case 16 -> "28000";
      case 14 -> "40001";
      case 17, 21 -> "08000";
      case 12, 13, 20 -> "22023";
      default -> "58000";
    };
  }
}
