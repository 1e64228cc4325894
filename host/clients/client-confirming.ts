import { isPlain, LONGEST_REASON, type Press, type Question } from '../../plugins/security/host.ts'
import { QUESTION_TIME } from '../second-step/presses.ts'
import type { BrowserEvent } from '../web/frames.ts'
import type { ClientState } from './client-state.ts'
import { shownText } from './render/context.ts'

/** Asks users to confirm their identity before a button press takes effect. */
export interface ClientConfirming {
  /**
   * Returns what scripts can read about a button press.
   * @param isConfirmedNow whether the user has confirmed this press
   */
  pressOf(isConfirmedNow: boolean): Promise<Press>
  /** Opens the page's dialog, unless one is open or the user has refused too often. */
  ask(event: BrowserEvent, question: Question): void
  /** @returns the press to repeat; null if the browser sent a proof that is not for this client's question */
  accept(proof: string): BrowserEvent | null
  /** Call this when the user has closed the dialog. */
  refused(): void
  /** Tells the user that the press can't be repeated, because the form has changed since. */
  sayStale(): void
}

/**
 * After this many refusals in a row, users aren't asked again for `PAUSE` ms. This keeps scripts from pressuring users
 * into confirming.
 */
const MOST_REFUSED = 3
const PAUSE = 5 * 60_000

/** @param now returns the current time in epoch milliseconds */
export function createClientConfirming(state: ClientState, now: () => number = Date.now): ClientConfirming {
  const { parts, outbox } = state
  const { send } = outbox
  /** The number of refusals since the last confirmation. */
  let refusals = 0
  let pausedUntil = 0

  const say = (key: string, values: readonly number[] = []) =>
    send({ kind: 'message', text: state.screen.text(key, values), level: 'warning' })

  return {
    async pressOf(isConfirmedNow) {
      const { found, serverUrl } = state.visitor
      const isConfirmed = found !== null && (await parts.presses.isConfirmed(found.session, serverUrl))
      return { isConfirmed, isConfirmedNow }
    },
    ask(event, { reason, every }) {
      const { found } = state.visitor
      if (found === null) return say('platform.confirm.nobody')
      // The user pressed twice, and the dialog is already open.
      if (state.confirming !== null && state.confirming.askedAt + QUESTION_TIME > now()) return
      if (pausedUntil > now()) return say('platform.confirm.paused', [Math.ceil((pausedUntil - now()) / 60_000)])
      const text = quotable(shownText(state.screen.contextOf(''), reason))
      const { id, href } = parts.presses.ask(found.session, { reason: text, every })
      state.confirming = { id, href, event, askedAt: now() }
      send({ kind: 'confirm', href })
    },
    accept(proof) {
      const { confirming, visitor } = state
      if (confirming === null || visitor.found === null) return null
      if (!parts.presses.isProof(visitor.found.session, confirming, proof)) return null
      state.confirming = null
      refusals = 0
      return confirming.event
    },
    refused() {
      if (state.confirming === null) return
      state.confirming = null
      refusals += 1
      if (refusals < MOST_REFUSED) return
      refusals = 0
      pausedUntil = now() + PAUSE
    },
    sayStale: () => say('platform.confirm.stale'),
  }
}

/**
 * Returns a text that the dialog accepts. Unlike a script's text, a translation can be too long or contain characters
 * that are not allowed.
 */
function quotable(text: string): string {
  const characters = [...text].filter((character) => isPlain(character) || character === '\n')
  const plain = characters.join('').replace(/\s+/g, ' ').trim()
  return plain.length > LONGEST_REASON ? `${plain.slice(0, LONGEST_REASON - 1)}…` : plain
}
