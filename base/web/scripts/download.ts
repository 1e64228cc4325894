import { answerOf, csrfToken, signInAgain } from './api.ts'
import { problemPlace, showProblem } from './problem.ts'

/** Download links on the pages of hosts and control centers. */
const DOWNLOADS = 'a[download][href^="/admin/api/"], a[download][href^="/api/"]'

/**
 * Fetches download links to the API with a script. Over http, browsers don't report which page sent a request, so only
 * a script can send the page's token. It can also show an error in the page.
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
    const response = answerOf(answer.status, await answer.text())
    if (!response.ok) showProblem(place, response.problem)
  } catch {
    showProblem(place, { status: 0 })
  }
}

function fileNameOf(answer: Response): string {
  return /filename="([^"]+)"/.exec(answer.headers.get('Content-Disposition') ?? '')?.[1] ?? 'download'
}

/** Passes a file to the browser, which saves it in the download folder or asks where to save it. */
function keepFile(file: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(file)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
