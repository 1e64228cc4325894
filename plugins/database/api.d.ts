interface Plugins {
  /** The databases that `solution.json` names under `databases`. */
  readonly database: {
    /**
     * Runs one SQL statement, a transaction of its own, and gives its rows; a statement without an answer gives none.
     *
     * Parameters are written `?` on every server, and their values never become part of the text. Numbers and booleans come
     * as such; integers beyond 2^53, decimals, JSON and all other types as text, dates as ISO text, bytes as base64 text.
     * @param name as in `solution.json`
     * @param sql at most 65,536 characters, one statement
     * @param parameters at most 1,000; a date as the text that the server takes, such as `date.toISOString()`
     * @throws TypeError (the Promise fails) for arguments of another kind
     * @throws Error (the Promise fails) with a text that says why: the operator has not granted the database, what the
     *   server says of the SQL, or which of the limits QUERY_ROWS, QUERY_SIZE, QUERY_TIME and EMBEDDED_SIZE it went over
     */
    query(
      name: string,
      sql: string,
      parameters?: (string | number | boolean | null)[],
    ): Promise<Record<string, string | number | boolean | null>[]>
  }
}

/** What further plugins give. */
declare var plugins: Plugins
