import { faultList } from '../../../base/web/scripts/problem.ts'
import { callHost, type HostProblem } from './call-host.ts'
import { buttonOf, elementOf, partOf, wordsFor } from './page-data.ts'

type Position = { readonly file: string; readonly line: number; readonly column: number }
type Tried = {
  readonly outcome: string
  readonly message: string | null
  readonly position: Position | null
  readonly would: readonly { readonly text: string }[]
  readonly result: unknown
  readonly requests: readonly { readonly method: string; readonly url: string }[]
  readonly log: readonly ({ readonly level: string; readonly message: string } & Partial<Position>)[]
  readonly milliseconds: number
  /** Private memory of the sandbox process; null if it could not be measured. */
  readonly memoryBytes: number | null
}

export type TryParts = {
  readonly saveAll: () => Promise<boolean>
  readonly goTo: (file: string, line: number, column: number) => void
}

/** Runs a function of the draft with input that the author enters, and shows the effects that it would have. */
export function createTryPanel({ saveAll, goTo }: TryParts): void {
  const form = partOf<HTMLFormElement>('try-form')
  const place = partOf('try-result')
  const kind = form.elements.namedItem('run') as HTMLSelectElement
  const showFields = () => {
    for (const field of form.querySelectorAll<HTMLElement>('[data-runs]')) {
      field.hidden = !(field.dataset.runs ?? '').split(' ').includes(kind.value)
    }
  }
  kind.addEventListener('change', showFields)
  showFields()
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    if (form.getAttribute('aria-busy') !== 'true') void run()
  })

  async function run(): Promise<void> {
    const body = inputOf(form)
    if (typeof body === 'string') return fail(body)
    form.setAttribute('aria-busy', 'true')
    place.replaceChildren(elementOf('p', wordsFor('try.running')))
    try {
      if (!(await saveAll())) return fail(wordsFor('publish.unsaved'))
      const answer = await callHost<Tried>('POST', '/try', { body })
      if (answer.ok) place.replaceChildren(...shownResult(answer.body))
      else refuse(answer.problem)
    } finally {
      form.removeAttribute('aria-busy')
    }
  }

  function fail(text: string): void {
    place.replaceChildren(elementOf('p', text, { class: 'notice notice-warn' }))
  }

  function refuse({ status, detail, faults = [] }: HostProblem): void {
    fail(status === 0 ? wordsFor('unreachable') : (detail ?? wordsFor('failed', status)))
    if (faults.length > 0) place.append(faultList(faults))
  }

  function shownResult(tried: Tried): readonly Node[] {
    const { outcome, message, position, would, result, requests, log, milliseconds, memoryBytes } = tried
    const isGood = outcome === 'returned'
    const memory = memoryBytes === null ? '' : ` · ${(memoryBytes / 1024 / 1024).toFixed(1)} MB`
    const head = elementOf('p', [
      elementOf('span', outcome, { class: `state state-${isGood ? 'good' : 'bad'}` }),
      document.createTextNode(` ${Math.round(milliseconds)} ms${memory}`),
    ])
    return [
      head,
      ...(message === null ? [] : [elementOf('p', message, { lang: 'en' })]),
      ...(position === null ? [] : [elementOf('p', [placeButton(position)])]),
      ...listOf(
        'try.would',
        would.map(({ text }) => elementOf('li', text, { lang: 'en' })),
      ),
      ...listOf(
        'try.requests',
        requests.map(({ method, url }) => elementOf('li', [elementOf('code', `${method} ${url}`)])),
      ),
      ...listOf('try.log', log.map(logLine)),
      elementOf('h4', wordsFor('try.result')),
      elementOf('pre', JSON.stringify(result, null, 2) ?? 'null', { tabindex: '0' }),
    ]
  }

  function logLine({ level, message, file, line = 1, column = 1 }: Tried['log'][number]): HTMLElement {
    const text = elementOf('span', ` ${level} ${message} `)
    return elementOf('li', file === undefined ? [text] : [text, placeButton({ file, line, column })])
  }

  function placeButton({ file, line, column }: Position): HTMLElement {
    return buttonOf(`${file}:${line}:${column}`, () => goTo(file, line, column))
  }
}

function listOf(title: string, items: readonly HTMLElement[]): readonly Node[] {
  return items.length === 0 ? [] : [elementOf('h4', wordsFor(title)), elementOf('ul', items)]
}

/** Returns the request's body from the form's fields; an error message if the JSON in a field is invalid. */
function inputOf(form: HTMLFormElement): object | string {
  const data = new FormData(form)
  const read = (name: string) => String(data.get(name) ?? '').trim()
  const list = (name: string) =>
    read(name)
      .split(',')
      .map((one) => one.trim())
      .filter((one) => one !== '')
  const [run, username] = [read('run'), read('username')]
  const tenant = list('tenant')
  const user = { username, permissions: list('permissions'), ...(tenant.length === 0 ? {} : { tenant }) }
  let more: object = {}
  let ofJob: object = {}
  try {
    if (read('more') !== '') more = JSON.parse(read('more')) as object
    if (run === 'job') ofJob = jobInput(read('job'), read('data'), tenant)
  } catch (error) {
    return wordsFor('try.json', String(error))
  }
  if (run === 'job') return { run, ...ofJob, ...more }
  return {
    run,
    ...(username === '' || run === 'sign-in' || run === 'oauth-config' ? {} : { user }),
    ...(read('locale') === '' ? {} : { locale: read('locale') }),
    ...(run === 'endpoint' ? { address: read('address') } : {}),
    ...(run === 'open' && read('form') !== '' ? { form: read('form') } : {}),
    ...(run === 'sign-in' ? { params: signInParams(read('username'), read('password')) } : {}),
    ...more,
  }
}

/** @throws SyntaxError if the data is not JSON */
function jobInput(job: string, data: string, tenant: readonly string[]): object {
  return {
    job,
    ...(data === '' ? {} : { data: JSON.parse(data) as unknown }),
    ...(tenant.length === 0 ? {} : { tenant }),
  }
}

function signInParams(username: string, password: string): Readonly<Record<string, string>> {
  return { ...(username === '' ? {} : { username }), ...(password === '' ? {} : { password }) }
}
