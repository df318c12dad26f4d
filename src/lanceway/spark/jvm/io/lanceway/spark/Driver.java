package io.lanceway.spark;

/** What the driver's Python process implements: a question and its arguments, answered in JSON. */
public interface Driver {
  String ask(String question, String arguments);
}
