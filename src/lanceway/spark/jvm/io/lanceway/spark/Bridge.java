package io.lanceway.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import py4j.Py4JException;
import py4j.Py4JNetworkException;

/**
 * The way from the JVM to the driver's Python process, where the catalogs are.
 *
 * <p>Planning alone goes this way, and it happens in the driver: executors never ask. Settings of catalogs are kept
 * here under a handle, so that no secret among them stands in Spark's configuration.
 */
public final class Bridge {
  static final ObjectMapper JSON = new ObjectMapper();
  private static final Map<String, Map<String, String>> KEPT = new ConcurrentHashMap<>();
  private static volatile Driver driver;

  private Bridge() {}

  /** Called from Python: who answers from now on. */
  public static void connect(Driver answering) {
    driver = answering;
  }

  /** Called from Python: keep the settings of a catalog. */
  public static void keep(String handle, Map<String, String> settings) {
    KEPT.put(handle, Map.copyOf(settings));
  }

  static Map<String, String> kept(String handle) {
    return KEPT.get(handle);
  }

  static ObjectNode object() {
    return JSON.createObjectNode();
  }

  static JsonNode ask(String question, ObjectNode arguments) throws Refusal {
    Driver answering = driver;
    if (answering == null) {
      throw new Refusal(17, "SERVICE_UNAVAILABLE", "No Python process answers for Lanceway's catalogs in this JVM. "
          + "Call lanceway.spark.install(spark) in the driver.");
    }
    try {
      JsonNode answer = JSON.readTree(answering.ask(question, JSON.writeValueAsString(arguments)));
      if (answer.has("error")) {
        throw new Refusal(
            answer.get("code").asInt(), answer.get("condition").asText(), answer.get("error").asText());
      }
      return answer.get("answer");
    } catch (JsonProcessingException error) {
      throw new UncheckedIOException(error);
    } catch (Py4JException error) {
      if (error instanceof Py4JNetworkException || error.getCause() instanceof Py4JNetworkException) {
        throw new Refusal(17, "SERVICE_UNAVAILABLE", "The Python process that answers for Lanceway's catalogs is gone. "
            + "Call lanceway.spark.install(spark) in the one that runs.");
      }
      throw error;
    }
  }
}
