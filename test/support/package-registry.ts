import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

type Manifest = { readonly version: string; readonly resolved?: string; readonly integrity?: string }
export type PackageRegistry = { readonly url: string; stop(): Promise<void> }

/**
 * Starts a local npm registry. It contains one package, as if published with `npm publish`, and the packages in its
 * shrinkwrap. It serves the tarballs that `npm ci` has put in npm's cache, so nothing is downloaded.
 * @param folder the folder that contains the built package
 */
export async function startPackageRegistry(folder: string, tarball: string): Promise<PackageRegistry> {
  const { stdout } = await run('npm', ['config', 'get', 'cache'])
  const cache = stdout.trim()
  const own = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest & { name: string }
  const shrinkwrap = JSON.parse(readFileSync(join(folder, 'npm-shrinkwrap.json'), 'utf8')) as {
    packages: Record<string, Manifest>
  }
  const packages = new Map<string, Map<string, Manifest>>()
  const files = new Map<string, string>()

  function add(name: string, manifest: Manifest & { readonly integrity: string }, file: string): void {
    const path = `/${name}/-/${basename(name)}-${manifest.version}.tgz`
    files.set(path, file)
    const dist = { tarball: `${url}${path.slice(1)}`, integrity: manifest.integrity }
    const versions = packages.get(name) ?? new Map<string, Manifest>()
    packages.set(name, versions.set(manifest.version, { ...manifest, name, dist } as Manifest))
  }

  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '')
    const file = files.get(path)
    if (file !== undefined && existsSync(file)) return response.end(readFileSync(file))
    const versions = packages.get(path.slice(1))
    if (versions === undefined) return response.writeHead(404).end()
    const latest = [...versions.keys()].at(-1)
    response.setHeader('content-type', 'application/json')
    const found = { name: path.slice(1), 'dist-tags': { latest }, versions: Object.fromEntries(versions) }
    return response.end(JSON.stringify(found))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`

  const integrity = `sha512-${createHash('sha512').update(readFileSync(tarball)).digest('base64')}`
  // npm's registry sets this property for packages that contain a shrinkwrap.
  add(own.name, { ...own, integrity, _hasShrinkwrap: true } as Manifest & { integrity: string }, tarball)
  for (const [path, { integrity = '', ...manifest }] of Object.entries(shrinkwrap.packages)) {
    const name = path.split('node_modules/').at(-1) ?? ''
    if (name !== '') add(name, { ...manifest, integrity }, storedFile(cache, integrity))
  }
  return { url, stop: () => new Promise((resolve) => server.close(() => resolve())) }
}

/**
 * Returns the path at which npm caches a tarball.
 * @see https://www.npmjs.com/package/cacache
 */
function storedFile(cache: string, integrity: string): string {
  const hash = Buffer.from(integrity.replace(/^sha512-/, ''), 'base64').toString('hex')
  return join(cache, '_cacache', 'content-v2', 'sha512', hash.slice(0, 2), hash.slice(2, 4), hash.slice(4))
}
