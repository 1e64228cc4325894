interface Plugins {
  /** The databases that are listed in `solution.json` under `databases`. */
  readonly database: {
    /**
     * Runs one SQL statement in its own transaction and returns its rows. A statement without a result returns an empty array.
     *
     * Parameters are written `?` for every kind of server. Their values never become part of the SQL text. In rows,
     * numbers and booleans keep their type. Integers above 2^53, decimals, JSON and all other types are strings; dates
     * are ISO strings; binary data is base64.
     * @param name a name from `databases` in `solution.json`
     * @param sql one statement of at most 65,536 characters
     * @param parameters at most 1,000; a date as a string that the server accepts, such as `date.toISOString()`
     * @throws TypeError (the Promise rejects) for arguments of the wrong type
     * @throws Error (the Promise rejects) with a message that contains the reason: the operator has not granted the
     *   database, the server's error for the SQL, or the limit that was exceeded (QUERY_ROWS, QUERY_SIZE, QUERY_TIME or
     *   EMBEDDED_SIZE)
     */
    query(
      name: string,
      sql: string,
      parameters?: (string | number | boolean | null)[],
    ): Promise<Record<string, string | number | boolean | null>[]>
  }
}

/** The globals of additional plugins. */
declare var plugins: Plugins
