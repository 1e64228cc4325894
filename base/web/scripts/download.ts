import { answerOf, csrfToken, signInAgain } from './api.ts'
import { problemPlace, showProblem } from './problem.ts'

/** Of a host, and of a control center. */
const DOWNLOADS = 'a[download][href^="/admin/api/"], a[download][href^="/api/"]'

/**
 * A link with `download` to the API is fetched by the script: over http, where browsers do not say which page a request
 * comes from, the token of the page says it; and a refusal is shown in the page.
 */
export function takeOverDownloads(): void {
  document.addEventListener('click', (event) => {
    const link = (event.target as Element).closest<HTMLAnchorElement>(DOWNLOADS)
    if (link === null || link.getAttribute('aria-busy') === 'true') return
    event.preventDefault()
    link.setAttribute('aria-busy', 'true')
    void downloadFile(link).finally(() => link.removeAttribute('aria-busy'))
  })
}

async function downloadFile(link: HTMLAnchorElement): Promise<void> {
  const place = problemPlace(link.parentElement ?? document.body)
  place.hidden = true
  try {
    const answer = await fetch(link.href, { headers: { 'X-CSRF-Token': csrfToken() } })
    if (answer.status === 401) return signInAgain()
    if (answer.ok) return keepFile(await answer.blob(), link.download || fileNameOf(answer))
    const told = answerOf(answer.status, await answer.text())
    if (!told.ok) showProblem(place, told.problem)
  } catch {
    showProblem(place, { status: 0 })
  }
}

function fileNameOf(answer: Response): string {
  return /filename="([^"]+)"/.exec(answer.headers.get('Content-Disposition') ?? '')?.[1] ?? 'download'
}

/** Hands a file over to the browser, which asks or puts it where downloads go. */
function keepFile(file: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(file)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
