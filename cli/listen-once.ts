import { createServer } from 'node:net'

/** Tries a port. @returns the system's code of what stands in the way; null: it is free */
export function listenOnce(host: string, port: number): Promise<string | null> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen(port, host, () => server.close(() => resolve(null)))
  })
}
