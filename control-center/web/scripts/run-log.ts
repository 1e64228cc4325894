import { askUnattended } from '../../../base/web/scripts/api.ts'
import { dataOfEvents } from '../../../base/web/scripts/event-data.ts'

type RunLogLine = { readonly number: number; readonly time: number; readonly step: string; readonly text: string }
type RunSteps = { readonly state: string; readonly steps: readonly { readonly name: string; readonly state: string }[] }
type RunLogEvent = { readonly line: RunLogLine } | { readonly run: RunSteps }

/** Reconnect delay in ms. */
const RUN_LOG_AGAIN = 2000
/** States of steps that are not finished. */
const OPEN_STEPS: readonly string[] = ['waiting', 'running']

/**
 * After a form with `data-run` starts a run, opens the run's page. The attribute is the page's URL without the
 * run's number.
 */
export function goToStartedRuns(): void {
  document.addEventListener('api-done', (event) => {
    const form = event.target as HTMLFormElement
    const { number } = (event as CustomEvent<{ number?: number } | null>).detail ?? {}
    if (form.dataset.run !== undefined && number !== undefined) location.assign(`${form.dataset.run}${number}`)
  })
}

/** Follows a run in progress on its page: shows its steps and each line of its log. */
export function followRunLog(): void {
  const card = document.querySelector<HTMLElement>('[data-run-log]')
  if (card !== null) void followToTheEnd(card)
}

async function followToTheEnd(card: HTMLElement): Promise<void> {
  let isOver = false
  while (!isOver) {
    try {
      isOver = await readRunStream(card)
    } catch {
      // Ignore errors: the code below reports that the stream ended, whether it failed or not.
    }
    if (isOver) return
    sayOfRun(card.dataset.lost ?? '')
    await new Promise((resolve) => setTimeout(resolve, RUN_LOG_AGAIN))
  }
}

/** @returns whether the run has ended */
async function readRunStream(card: HTMLElement): Promise<boolean> {
  const lines = document.getElementById('run-lines')
  const headers = { Accept: 'text/event-stream', 'Last-Event-ID': lines?.dataset.last ?? '0' }
  const answer = await askUnattended(card.dataset.runLog ?? '', headers)
  if (!answer.ok || answer.body === null) return false
  let isOver = false
  for await (const event of dataOfEvents(answer.body)) isOver = showRunEvent(card, event as RunLogEvent)
  return isOver
}

/** @returns whether the run has ended */
function showRunEvent(card: HTMLElement, event: RunLogEvent): boolean {
  if ('line' in event) {
    addRunLine(event.line)
    return false
  }
  const { state, steps } = event.run
  for (const step of steps) showRunStep(card, step)
  const progress = document.querySelector<HTMLProgressElement>('#run-progress')
  if (progress !== null) progress.value = steps.filter((step) => !OPEN_STEPS.includes(step.state)).length
  const isOver = state !== 'running'
  if (isOver) {
    const text = card.getAttribute(`data-run-${state}`) ?? state
    showStateText(document.querySelector('#run-state .state'), text, state)
    document.getElementById('run-cancel')?.remove()
    sayOfRun(text)
  }
  return isOver
}

function showRunStep(card: HTMLElement, { name, state }: { readonly name: string; readonly state: string }): void {
  const item = card.querySelector(`[data-step="${CSS.escape(name)}"]`)
  const place = item?.querySelector('.state')
  const text = card.getAttribute(`data-step-${state}`) ?? state
  if (!item || !place || place.textContent === text) return
  showStateText(place, text, state)
  if (state === 'not-set-up') document.getElementById('run-no-builder')?.removeAttribute('hidden')
  sayOfRun(`${item.querySelector('.run-step')?.textContent ?? ''}: ${text}`)
}

function showStateText(place: Element | null, text: string, state: string): void {
  if (place === null) return
  place.textContent = text
  const look = state === 'done' ? ' state-good' : state === 'failed' || state === 'interrupted' ? ' state-bad' : ''
  place.className = `state${look}`
}

function addRunLine({ number, time, step, text }: RunLogLine): void {
  const lines = document.getElementById('run-lines')
  if (lines === null || number <= Number(lines.dataset.last)) return
  const box = lines.parentElement
  // Don't scroll if the user has scrolled up to read.
  const isAtEnd = box !== null && box.scrollTop + box.clientHeight >= box.scrollHeight - 24
  const item = document.createElement('li')
  const at = document.createElement('time')
  at.dateTime = new Date(time).toISOString()
  at.textContent = at.dateTime.slice(11, 19)
  item.append(at, ' ', runSpan('run-line-step', step), ' ', runSpan('run-line', text))
  lines.append(item)
  lines.dataset.last = String(number)
  document.getElementById('run-log-empty')?.setAttribute('hidden', '')
  if (isAtEnd && box !== null) box.scrollTop = box.scrollHeight
}

function runSpan(name: string, text: string): HTMLElement {
  const span = document.createElement('span')
  span.className = name
  span.textContent = text
  return span
}

/** Screen readers announce steps and the end of the run, but not each line. */
function sayOfRun(text: string): void {
  const place = document.getElementById('run-said')
  if (place !== null) place.textContent = text
}
