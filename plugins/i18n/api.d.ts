/** Language and texts. */
declare const i18n: {
  /** Sets the user's locale, for instance ("nl", "BE"); it stays with the session. */
  setLocale(language: string, country?: string | null): void
  /** Two or three lower-case letters, such as "nl". */
  getCurrentLanguage(): string
  /** Two upper-case letters, such as "BE", or "". */
  getCurrentCountry(): string
  /**
   * The text of a key: from the solution's tables for the locale, its language, then `default`, then the platform's
   * own texts. {0}, {1} become the values. An unknown key gives "!key!" and, once, a line in the solution's log.
   */
  getI18NMessage(key: string, values?: unknown[] | null, language?: string | null, country?: string | null): string
  /**
   * Replaces the text of a key; null takes it back. In a login that lasts for this answer, in an open client until it is
   * closed. @throws RangeError in a client for more than 200 texts, or 65,536 characters of keys and texts together
   */
  setI18NMessage(key: string, value: string | null): void
}
