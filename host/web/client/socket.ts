import type { Dial } from './line.ts'

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
    socket.addEventListener('close', () => {
      if (isOver) return
      isOver = true
      listener.lost()
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
