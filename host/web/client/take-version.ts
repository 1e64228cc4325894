import { clearAlerts } from './notices.ts'

/**
 * Call this when the client has switched to another version of the solution on a live host: clears old errors and
 * replaces the style sheet.
 * @param style the URL of the style sheet; null if the version has none
 */
export function takeVersion(style: string | null): void {
  clearAlerts()
  const before = [...document.querySelectorAll<HTMLLinkElement>('link[rel=stylesheet]')]
  if (style === null) {
    for (const link of before) link.remove()
    return
  }
  const wanted = new URL(style, location.href).href
  if (before.some(({ href }) => href === wanted)) return
  const next = document.createElement('link')
  next.rel = 'stylesheet'
  next.href = style
  // Keep the old style sheet until the new one has loaded.
  const replace = () => {
    for (const link of before) link.remove()
  }
  next.addEventListener('load', replace)
  next.addEventListener('error', replace)
  document.head.append(next)
}
