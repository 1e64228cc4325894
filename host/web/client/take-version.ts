import { clearAlerts } from './notices.ts'

/**
 * On a live host the client goes on in another version of the solution: what failed in the one before is said no more, and
 * its style sheet takes the place of the one that is there.
 * @param style its address; null: the version has none
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
  // Until it is there, the page keeps the look that it has.
  const replace = () => {
    for (const link of before) link.remove()
  }
  next.addEventListener('load', replace)
  next.addEventListener('error', replace)
  document.head.append(next)
}
