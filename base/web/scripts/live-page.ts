import { askUnattended } from './api.ts'

/** Refresh interval in ms. */
const REFRESH_EVERY = 15_000

/**
 * Keeps a page up to date. The value of `data-live` is the URL that returns the current parts. Only changed parts are
 * replaced, and never the one with the focus; open `<details>` stay open. The user can pause the updates. `data-every`
 * is the interval in ms; default 15 s. The element `live-lost` is shown while the host is unreachable.
 */
export function keepPageLive(): void {
  const live = document.querySelector<HTMLElement>('[data-live]')
  const pause = document.querySelector<HTMLButtonElement>('#live-pause')
  if (live === null || pause === null) return
  let isPaused = false
  pause.hidden = false
  pause.addEventListener('click', () => {
    isPaused = !isPaused
    pause.setAttribute('aria-pressed', String(isPaused))
    if (!isPaused) void refresh(live)
  })
  setInterval(() => {
    if (!isPaused && !document.hidden) void refresh(live)
  }, Number(live.dataset.every) || REFRESH_EVERY)
}

async function refresh(live: HTMLElement): Promise<void> {
  const html = await askForParts(live.dataset.live ?? '')
  document.querySelector('#live-lost')?.toggleAttribute('hidden', html !== null)
  if (html === null) return
  const fresh = new DOMParser().parseFromString(html, 'text/html')
  for (const part of live.querySelectorAll<HTMLElement>('[id^=live-]')) {
    const other = fresh.getElementById(part.id)
    if (other === null || part.contains(document.activeElement)) continue
    for (const opened of part.querySelectorAll('details[open]')) {
      other.querySelector(`#${CSS.escape(opened.id)}`)?.setAttribute('open', '')
    }
    if (part.innerHTML !== other.innerHTML) part.replaceChildren(...other.childNodes)
  }
}

/** Returns null if the request failed. The next request may succeed. */
async function askForParts(address: string): Promise<string | null> {
  try {
    const answer = await askUnattended(address)
    if (!answer.ok) return null
    return ((await answer.json()) as { html: string }).html
  } catch {
    return null
  }
}
