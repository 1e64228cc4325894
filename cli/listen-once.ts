import { createServer } from 'node:net'

/** Tries to listen on a port. @returns the system's error code; null if the port is free */
export function listenOnce(host: string, port: number): Promise<string | null> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen(port, host, () => server.close(() => resolve(null)))
  })
}
