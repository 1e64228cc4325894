import { createHash, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'

export type TestRegistry = {
  /** The registry's host name and port, as used in image names. */
  readonly host: string
  /** The manifests, by `{name}:{tag}` and by `{name}@{digest}`. */
  readonly manifests: ReadonlyMap<string, Buffer>
  /** The blobs, by digest. */
  readonly blobs: ReadonlyMap<string, Buffer>
  readonly stop: () => Promise<void>
}

/**
 * Starts a registry for container images on a free loopback port. It accepts pushes (OCI Distribution Specification).
 * @param certificate if present, the registry uses TLS with this certificate
 */
export async function startTestRegistry(
  username: string,
  password: string,
  certificate?: { readonly cert: Buffer; readonly key: Buffer },
): Promise<TestRegistry> {
  const manifests = new Map<string, Buffer>()
  const blobs = new Map<string, Buffer>()
  const uploads = new Map<string, Buffer>()
  const wanted = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  const digestOf = (bytes: Buffer) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`

  const listener: RequestListener = async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://registry')
    const body = await bytesOf(request)
    const answer = (status: number, headers: Record<string, string> = {}, content?: Buffer) => {
      response.writeHead(status, headers)
      response.end(request.method === 'HEAD' ? undefined : content)
    }
    if (request.headers.authorization !== wanted) {
      return answer(401, { 'www-authenticate': 'Basic realm="registry"' })
    }
    const [, name = '', kind, rest = ''] = /^\/v2\/(.+)\/(blobs|manifests)\/(.*)$/.exec(url.pathname) ?? []
    const isReading = request.method === 'GET' || request.method === 'HEAD'
    if (kind === undefined) return answer(url.pathname === '/v2/' ? 200 : 404)
    if (kind === 'manifests') {
      if (isReading) {
        const found = manifests.get(`${name}:${rest}`)
        if (found === undefined) return answer(404)
        return answer(200, { 'docker-content-digest': digestOf(found), 'content-type': typeOf(found) }, found)
      }
      manifests.set(`${name}:${rest}`, body)
      return answer(201, { 'docker-content-digest': digestOf(body), location: url.pathname })
    }
    if (isReading) {
      const found = blobs.get(rest)
      return found === undefined ? answer(404) : answer(200, { 'content-length': String(found.length) }, found)
    }
    const upload = rest.replace('uploads/', '') || randomUUID()
    const bytes = Buffer.concat([uploads.get(upload) ?? Buffer.alloc(0), body])
    uploads.set(upload, bytes)
    const digest = url.searchParams.get('digest')
    if (digest === null || request.method !== 'PUT') {
      const location = `/v2/${name}/blobs/uploads/${upload}`
      return answer(202, { location, range: `0-${Math.max(0, bytes.length - 1)}`, 'docker-upload-uuid': upload })
    }
    if (digest !== digestOf(bytes)) return answer(400)
    blobs.set(digest, bytes)
    answer(201, { location: `/v2/${name}/blobs/${digest}`, 'docker-content-digest': digest })
  }
  const server = certificate === undefined ? createServer(listener) : createSecureServer(certificate, listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    manifests,
    blobs,
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function typeOf(manifest: Buffer): string {
  return String(JSON.parse(manifest.toString('utf8')).mediaType)
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
