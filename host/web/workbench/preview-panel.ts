import { elementOf, pageData, partOf, wordsFor } from './page-data.ts'

type PreviewPlace = {
  /** The URL of the frame, without a query. */
  readonly address: string
  readonly revision: number
  readonly locales: readonly string[]
  readonly states: readonly string[]
}

/** Shows the draft's login page in an iframe. The "Login page" page does the same for the active version. */
export function createPreviewPanel(saveAll: () => Promise<boolean>) {
  const form = partOf<HTMLFormElement>('preview-form')
  const frame = partOf<HTMLIFrameElement>('preview-frame')
  const said = partOf('preview-said')
  let place: PreviewPlace | null = null

  form.addEventListener('submit', (event) => event.preventDefault())
  form.addEventListener('change', showFrame)

  async function show(): Promise<void> {
    said.textContent = ''
    if (!(await saveAll())) {
      said.textContent = wordsFor('publish.unsaved')
      return
    }
    const answer = await fetch(pageData.preview)
    if (!answer.ok) {
      const { detail } = (await answer.json().catch(() => ({}))) as { detail?: string }
      said.textContent = detail ?? wordsFor('failed', answer.status)
      frame.hidden = true
      return
    }
    place = (await answer.json()) as PreviewPlace
    fill('locale', place.locales)
    fill('state', place.states)
    frame.hidden = false
    showFrame()
  }

  /** Fills a select with these values, and keeps the chosen option. */
  function fill(name: string, values: readonly string[]): void {
    const select = form.elements.namedItem(name) as HTMLSelectElement
    const chosen = select.value
    const names = new Map([...select.options].map((option) => [option.value, option.text]))
    const texts = name === 'state' ? values.filter((value) => names.has(value)) : values
    select.replaceChildren(...texts.map((value) => elementOf('option', names.get(value) ?? value, { value })))
    if (texts.includes(chosen)) select.value = chosen
    else if (name === 'locale' && texts.includes(document.documentElement.lang))
      select.value = document.documentElement.lang
  }

  function showFrame(): void {
    if (place === null) return
    const chosen = new FormData(form)
    const query = new URLSearchParams({ locale: String(chosen.get('locale')), state: String(chosen.get('state')) })
    frame.className = `preview preview-${chosen.get('width')} preview-${chosen.get('scheme')}`
    frame.src = `${place.address}?${query}`
  }

  return { show }
}
