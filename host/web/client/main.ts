import type { ClosedWhy, HostFrame } from '../frames.ts'
import { askToConfirm, closeConfirmDialog } from './confirm-dialog.ts'
import { controlsIn } from './controls.ts'
import { createExchange, type Exchange } from './exchange.ts'
import { focusElement } from './focus-element.ts'
import { showGrouped } from './grouped-inputs.ts'
import { createKeptClient } from './kept-client.ts'
import { askToLeave, closeLeaveDialog } from './leave-dialog.ts'
import { takeLocalNumbers } from './local-numbers.ts'
import {
  pageText,
  showClosed,
  showConnection,
  showMessage,
  showProgress,
  showReopened,
  takeLanguage,
} from './notices.ts'
import { applyChanges, awaitForm, showForm } from './patch.ts'
import { signInByAddress, signInForm, signOutForm } from './sign-forms.ts'
import { dialSocket } from './socket.ts'
import { takeVersion } from './take-version.ts'
import { endUnsaved, isUnsaved, letGo, settleInput, showUnsaved, watchInput } from './unsaved-input.ts'
import { listenToUser, sayUnreadable } from './user-events.ts'
import { watchTables } from './wide-tables.ts'

/** Debounce of resize events, in ms. */
const RESIZE_PAUSE = 250

const root = document.getElementById('client-form')
if (root !== null && !signInByAddress()) start(root)

function start(root: HTMLElement): void {
  const socket = root.dataset.socket ?? 'client'
  const size = () => ({ width: innerWidth, height: innerHeight })
  const kept = createKeptClient(socket)
  let isOver = false
  let isLeft = false
  const exchange = createExchange({
    dial: dialSocket(socket),
    page: crypto.randomUUID(),
    kept,
    size,
    random: Math.random,
    received: (frame) => take(frame),
    changed(state) {
      if (isOver) return
      showConnection(state.isOnline)
      showProgress(state.isWaiting)
      if (state.isOnline && !state.isWaiting) settleInput(root)
    },
  })
  takeLocalNumbers(root)
  listenToUser(root, exchange)
  watchInput(root)
  watchNetwork(exchange)
  addEventListener('pageshow', ({ persisted }) => {
    if (!persisted) return
    if (isLeft) location.reload()
    else exchange.retry()
  })
  document.addEventListener('submit', (event) => {
    const { target } = event
    if (!(target instanceof HTMLFormElement) || !target.matches('form.account')) return
    if (!isUnsaved(root)) return leave()
    event.preventDefault()
    askToLeave(() => leaveBy(target))
  })
  reportSize(root, exchange, size)

  function take(frame: HostFrame): void {
    switch (frame.kind) {
      case 'patch':
        applyChanges(frame.changes, frame.seq)
        if (frame.changes.some(({ id }) => id === 'client-texts')) takeLanguage()
        settle(root)
        return
      case 'form':
        document.title = frame.title
        showForm(root, frame.html, frame.seq)
        settle(root)
        return
      case 'reopened':
        closeConfirmDialog()
        awaitForm(root)
        showReopened()
        return
      case 'renewed':
        closeConfirmDialog()
        takeVersion(frame.style)
        return
      case 'message':
        showMessage(frame.text, frame.level)
        return
      case 'focus':
        focusElement(root, frame.element)
        return
      case 'go':
        if (frame.target === undefined || frame.target === '_self') {
          letGo()
          location.assign(frame.href)
        } else window.open(frame.href, frame.target, 'noopener')
        return
      case 'leaving':
        askToLeave(agree)
        return
      case 'confirm':
        askToConfirm(frame.href, (proof) => sendAnswer(exchange, proof))
        return
      case 'sign-in':
        leaveBy(signInForm(frame.token))
        return
      case 'sign-out':
        leaveBy(signOutForm(frame.token))
        return
      case 'dev':
        // The script that handles these events is loaded only on pages of `solhost dev`.
        dispatchEvent(new CustomEvent('solhost-frame', { detail: frame }))
        return
      case 'closed':
        close(frame.why)
    }
  }

  /** Tells the host that the user agrees to leave the form. The host already knows the next form. */
  function agree(): void {
    const form = root.querySelector<HTMLElement>('form[data-form]')?.dataset.form
    if (!exchange.isOnline) showMessage(pageText('notnow'), 'warning')
    else if (form) exchange.send({ kind: 'leave', form })
  }

  function close(why: ClosedWhy): void {
    isOver = true
    exchange.end()
    // After `refused`, the client may still be open with the user's work, so keep its id.
    if (why !== 'refused') kept.forget()
    closeLeaveDialog()
    closeConfirmDialog()
    endUnsaved(root)
    showProgress(false)
    showClosed(why)
  }

  function leaveBy(form: HTMLFormElement | null): void {
    if (form === null) return
    leave()
    form.submit()
  }

  /** Ends the exchange when a session starts or ends, because the client ends too. */
  function leave(): void {
    isOver = true
    isLeft = true
    exchange.end()
    kept.forget()
    letGo()
    closeConfirmDialog()
    root.inert = true
    showProgress(true)
  }
}

function watchNetwork(exchange: Exchange): void {
  addEventListener('online', () => exchange.retry())
  addEventListener('offline', () => exchange.drop())
  // Reconnect immediately when the page becomes visible, because the user is waiting for it.
  document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && exchange.retry())
  addEventListener('pagehide', () => exchange.suspend())
}

/** Updates what the browser adds to the form, such as grouped numbers. Call this after the form's content changed. */
function settle(root: HTMLElement): void {
  for (const control of controlsIn(root)) {
    sayUnreadable(control)
    showGrouped(control)
  }
  watchTables(root)
  showUnsaved(root)
}

/** Responds to a request for confirmation. If the user has confirmed, the host repeats the button press. */
function sendAnswer(exchange: Exchange, proof: string | null): void {
  if (proof !== null && exchange.isOnline) {
    exchange.send({ kind: 'confirmed', proof })
    return
  }
  // Don't queue a confirmation while offline: the action would run later, without the user watching.
  if (proof !== null) showMessage(pageText('notnow'), 'warning')
  exchange.send({ kind: 'unconfirmed' })
}

function reportSize(root: HTMLElement, exchange: Exchange, size: () => { width: number; height: number }): void {
  let resizing: ReturnType<typeof setTimeout> | undefined
  addEventListener('resize', () => {
    clearTimeout(resizing)
    resizing = setTimeout(() => {
      const form = root.querySelector<HTMLElement>('form[data-form]')?.dataset.form
      // Without a form, nothing listens to resize events.
      if (form && !root.inert) exchange.send({ kind: 'resize', form, ...size() })
    }, RESIZE_PAUSE)
  })
}
