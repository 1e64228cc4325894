/** The order matters: browsers built on Chromium, for example, also send the name Chrome. */
const BROWSERS: readonly (readonly [sent: RegExp, name: string])[] = [
  [/\bEdg(?:A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Headless)?(?:Chrome|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]
const SYSTEMS: readonly (readonly [sent: RegExp, name: string])[] = [
  [/\bAndroid\b/, 'Android'],
  [/\b(?:iPhone|iPad)\b/, 'iOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
]

/**
 * @returns a name such as 'Firefox · Windows'. If neither the browser nor the system is known, the start of the header.
 * Null without a header.
 */
export function browserName(agent: string | null): string | null {
  if (agent === null) return null
  const nameIn = (known: typeof BROWSERS) => known.find(([sent]) => sent.test(agent))?.[1]
  const parts = [nameIn(BROWSERS), nameIn(SYSTEMS)].filter((part) => part !== undefined)
  return parts.length === 0 ? agent.slice(0, 40) : parts.join(' · ')
}
