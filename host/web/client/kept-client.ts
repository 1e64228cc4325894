import type { KeptClient } from './exchange.ts'

/** As the host makes ids; another script of this origin may have put anything there. */
const ID = /^[\w-]{43}$/

/**
 * Kept in the tab's session storage, where a browser lets us; else until the page goes.
 * @param socket the address of the WebSocket, which names the solution
 */
export function createKeptClient(socket: string): KeptClient {
  const key = `client ${new URL(socket, location.href).pathname}`
  let id = stored(key)
  return {
    get id() {
      return id
    },
    keep(next) {
      id = next
      store(key, next)
    },
    forget() {
      id = null
      store(key, null)
    },
  }
}

function stored(key: string): string | null {
  try {
    const id = sessionStorage.getItem(key)
    return id !== null && ID.test(id) ? id : null
  } catch {
    return null
  }
}

function store(key: string, id: string | null): void {
  try {
    if (id === null) sessionStorage.removeItem(key)
    else sessionStorage.setItem(key, id)
  } catch {
    // Blocked or full: a reload opens a new client.
  }
}
