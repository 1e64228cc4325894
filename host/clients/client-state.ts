import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { localeOfFormats } from '../../base/http/languages.ts'
import type { SignedInUser } from '../../plugins/security/host.ts'
import type { SandboxClient } from '../../runtime/supervisor.ts'
import type { BrowserEvent } from '../web/frames.ts'
import type { ClientParts } from './client-parts.ts'
import { createEnteredSecrets, type EnteredSecrets } from './entered-secrets.ts'
import { createLane, type Lane } from './lane.ts'
import { createOutbox, type Outbox } from './outbox.ts'
import { createScreen, type Screen } from './screen.ts'
import { createTimers, type Timers } from './timers.ts'
import { createUserWork, type UserWork } from './user-work.ts'
import type { Visitor } from './visitor.ts'

/**
 * The state that one client's modules share. It is changed by tasks in its `lane`. Only browser connections, the end of
 * the client and the loss of its context change it without the lane.
 */
export type ClientState = ShownState & {
  readonly id: string
  readonly outbox: Outbox
  readonly lane: Lane
  readonly timers: Timers
  /** On a live host: the user's actions, to replay them in the next version. */
  readonly work: UserWork | null
  screen: Screen
  sandbox: SandboxClient | null
  /** Whether the solution has opened in the current context, and the browser has received its form. */
  isOpen: boolean
  /** Whether the client is ending. If so, nothing new may start in it. */
  isOver: boolean
  /** Whether the context ended unexpectedly, and no new one has been opened yet. */
  isLost: boolean
  /** The form to show once the user agrees to discard unsaved input; null if the user isn't being asked. */
  leaving: string | null
  /** The button press that waits for the user's confirmation; null if the user isn't being asked. */
  confirming: WaitingPress | null
  /** Increased each time a lost context is reopened. Events of earlier generations are ignored. */
  generation: number
  /** Identifies the page load that this client serves; empty before the first one. */
  page: string
  /** The sequence number of the page's last event that was handled. */
  handled: number
  /** The timer that ends the client if no browser reconnects. */
  grace: NodeJS.Timeout | null
}

/** A button press that waits until the user has confirmed their identity. */
export type WaitingPress = {
  readonly id: string
  /** The path of the page where the user confirms. */
  readonly href: string
  readonly event: BrowserEvent
  /** Epoch ms. */
  readonly askedAt: number
}

/** The state that the screen reads while it renders. */
type ShownState = {
  readonly parts: ClientParts
  readonly secrets: EnteredSecrets
  visitor: Visitor
  /** The version that the client runs. */
  solution: ActiveSolution
  user: SignedInUser | null
  /** Texts that scripts set in this client. */
  overrides: Map<string, string>
}

/**
 * @param onError called for each error of a task in the client's lane
 * @param onTimer called in the lane when a function that a script scheduled is due
 */
export function createClientState(
  id: string,
  opener: Visitor,
  parts: ClientParts,
  onError: (error: unknown) => void,
  onTimer: (timer: number) => Promise<void>,
): ClientState {
  const lane = createLane(onError)
  const shown: ShownState = {
    parts,
    secrets: createEnteredSecrets(),
    visitor: opener,
    solution: opener.solution,
    user: opener.found?.session ?? null,
    overrides: new Map(),
  }
  return Object.assign(shown, {
    id,
    outbox: createOutbox(),
    lane,
    timers: createTimers((timer) => lane.enqueue(() => onTimer(timer))),
    work: parts.live === undefined ? null : createUserWork(),
    screen: newScreen(shown, opener.locale),
    sandbox: null,
    isOpen: false,
    isOver: false,
    isLost: false,
    leaving: null,
    confirming: null,
    generation: 0,
    page: '',
    handled: 0,
    grace: null,
  })
}

/** Resets the client for a version. Its forms return to their initial state, as before any script has run. */
export function beginIn(state: ClientState, version: ActiveSolution): void {
  state.solution = version
  state.isOpen = false
  state.leaving = null
  state.confirming = null
  state.overrides = new Map()
  state.screen = newScreen(state, state.screen.locale)
}

function newScreen(state: ShownState, locale: string): Screen {
  const { visitor, solution, user, overrides, parts, secrets } = state
  return createScreen({
    solution,
    locale,
    formatsOf: (ofLocale) => localeOfFormats(ofLocale, state.visitor.languages),
    user: visitor.found === null ? null : { ...visitor.found.session, tenant: user?.tenant ?? null },
    account: () => state.visitor.account,
    isTesting: parts.isTesting,
    isLive: parts.live !== undefined,
    missing: (key, ofLocale) => parts.missingTexts.note(state.solution, key, ofLocale, secrets.redact),
    overrides,
  })
}
