import type { HostFrame } from '../../clients/frames.ts'
import { controlsIn } from './controls.ts'
import { createExchange } from './exchange.ts'
import { clearConnection, showClosed, showConnection, showMessage, showProgress } from './notices.ts'
import { applyChanges, showForm } from './patch.ts'
import { dialSocket } from './socket.ts'
import { listenToUser, sayUnreadable } from './user-events.ts'

/** Milliseconds after the last change of the window's size. */
const RESIZE_PAUSE = 250

const root = document.getElementById('client-form')
if (root !== null) start(root)

function start(root: HTMLElement): void {
  const size = () => ({ width: innerWidth, height: innerHeight })
  let isClosed = false
  const exchange = createExchange({
    dial: dialSocket(root.dataset.socket ?? 'client'),
    page: crypto.randomUUID(),
    size,
    random: Math.random,
    received: (frame) => take(frame),
    changed(state) {
      if (isClosed) return
      showConnection(state.isOnline)
      showProgress(state.isWaiting)
    },
  })
  listenToUser(root, exchange)
  addEventListener('online', () => exchange.retry())
  addEventListener('offline', () => exchange.drop())
  // A page that was asleep comes back with the person in front of it.
  document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && exchange.retry())
  let resizing: ReturnType<typeof setTimeout> | undefined
  addEventListener('resize', () => {
    clearTimeout(resizing)
    resizing = setTimeout(() => {
      const form = root.querySelector<HTMLElement>('form[data-form]')?.dataset.form
      if (form !== undefined && !isClosed) exchange.send({ kind: 'resize', form, ...size() })
    }, RESIZE_PAUSE)
  })

  function take(frame: HostFrame): void {
    switch (frame.kind) {
      case 'patch':
        applyChanges(frame.changes, frame.seq)
        controlsIn(root).forEach(sayUnreadable)
        return
      case 'form':
        document.title = frame.title
        if (showForm(root, frame.html, frame.seq)) clearConnection()
        controlsIn(root).forEach(sayUnreadable)
        return
      case 'message':
        showMessage(frame.text, frame.level)
        return
      case 'go':
        if (frame.target === undefined || frame.target === '_self') location.assign(frame.href)
        else window.open(frame.href, frame.target, 'noopener')
        return
      case 'closed':
        isClosed = true
        exchange.end()
        showProgress(false)
        showClosed(frame.why)
    }
  }
}
