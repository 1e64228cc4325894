/** The user's language and the solution's texts. */
declare const i18n: {
  /** Sets the user's locale, such as ("nl", "BE"), for the whole session. */
  setLocale(language: string, country?: string | null): void
  /** Two or three lowercase letters, such as "nl". */
  getCurrentLanguage(): string
  /** Two uppercase letters, such as "BE", or "". */
  getCurrentCountry(): string
  /**
   * Returns the text for a key. It is looked up in the solution's tables for the locale, then for its language, then in
   * `default`, then in the platform's own texts. {0}, {1} and so on are replaced by the values. For an unknown
   * key, it returns "!key!" and logs the key once.
   * @throws TypeError if the values are not an array
   */
  getI18NMessage(key: string, values?: unknown[] | null, language?: string | null, country?: string | null): string
  /**
   * Replaces the text for a key; null restores it. During a sign-in, the change applies only to this response. In an
   * open client, it applies until the client closes.
   * @throws RangeError in a client for more than 200 texts, or 65,536 characters of keys and texts together
   */
  setI18NMessage(key: string, value: string | null): void
}
