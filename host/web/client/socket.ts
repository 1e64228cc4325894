import type { Dial } from './line.ts'

/** The close code of a host that is stopping (RFC 6455, section 7.4.1) and has sent all its responses. */
const GOING_AWAY = 1001

/** @param address a path on the same server, or a ws, wss, http or https URL */
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
