import type { Dial } from './line.ts'

/** The host stops (RFC 6455, section 7.4.1): it has said all that it had to. */
const GOING_AWAY = 1001

/** @param address a path of the same server, or ws, wss, http or https */
export function dialSocket(address: string): Dial {
  return (listener) => {
    const url = new URL(address, location.href)
    url.protocol = url.protocol.replace(/^http/, 'ws')
    const socket = new WebSocket(url)
    let isOver = false
    socket.addEventListener('open', () => !isOver && listener.opened())
    socket.addEventListener('message', ({ data }) => {
      if (!isOver && typeof data === 'string') listener.received(data)
    })
    socket.addEventListener('close', ({ code }) => {
      if (isOver) return
      isOver = true
      listener.lost(code === GOING_AWAY)
    })
    return {
      send: (text) => socket.send(text),
      close() {
        isOver = true
        socket.close()
      },
    }
  }
}
