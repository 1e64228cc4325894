import { MOST_ENDPOINTS, shapeOf } from './endpoint-schema.ts'
import { type Findings, showName } from './findings.ts'
import { folderOf, MANIFEST } from './layout.ts'
import { clientModules, type Modules, type ReadManifest } from './modules.ts'
import { nearestKey } from './nearest-key.ts'

/** Maximum number of permissions that are compared to suggest the one that the author meant. */
const MAX_COMPARED = 200

/** Checks the endpoints of all manifests together. */
export function checkEndpoints(main: ReadManifest, modules: Modules, found: Findings): void {
  const forClients = clientModules(main, modules)
  const all = [{ name: null, ...main }, ...modules.reached]
  const shapes = new Set<string>()
  for (const { name, manifest, places } of all) {
    const endpoints = Object.keys(manifest?.endpoints ?? {})
    if (endpoints.length === 0) continue
    const file = `${folderOf(name)}${MANIFEST}`
    if (name !== null && !forClients.has(name)) {
      const message = `"endpoints" has no effect in the module "${name}", because that module signs users in; move "endpoints" to the solution or another module`
      found.fault(file, 'module_invalid', message, places.key(['endpoints']))
      continue
    }
    const own = new Map<string, string>()
    for (const address of endpoints) {
      const shape = shapeOf(address)
      shapes.add(shape)
      const other = own.get(shape)
      own.set(shape, other ?? address)
      if (other === undefined) continue
      const message = `the endpoints "${other}" and "${address}" match the same requests`
      found.fault(file, 'endpoint_twice', message, found.isFull ? {} : places.key(['endpoints', address]))
    }
  }
  if (shapes.size > MOST_ENDPOINTS) {
    const message = `the solution and its modules have ${shapes.size} endpoints; at most ${MOST_ENDPOINTS} are allowed`
    found.fault(MANIFEST, 'manifest_invalid', message, main.places.key(['endpoints']))
  }
  checkSessions(main, all, found)
  if (modules.complete) warnOfPermissions(all, found)
}

/** Reports endpoints that require a session, if the solution has no sign-in. */
function checkSessions(
  { manifest: solution }: ReadManifest,
  all: readonly (ReadManifest & { readonly name: string | null })[],
  found: Findings,
): void {
  if (solution?.authenticator !== 'NONE') return
  for (const { name, manifest, places } of all) {
    for (const [address, { authentication }] of Object.entries(manifest?.endpoints ?? {})) {
      if (!authentication.includes('session')) continue
      const message = `"endpoints.${address}" requires a session, but a solution with "authenticator": "NONE" has no sessions; change one of the two`
      const place = found.isFull ? {} : places.value(['endpoints', address, 'authentication'])
      found.fault(`${folderOf(name)}${MANIFEST}`, 'manifest_invalid', message, place)
    }
  }
}

/**
 * Warns about permissions that signed-in users can't have, because the manifests list others. Endpoints that only
 * accept tokens are exempt: the operator can give a token any permission.
 */
function warnOfPermissions(all: readonly (ReadManifest & { readonly name: string | null })[], found: Findings): void {
  const listed = new Set(all.flatMap(({ manifest }) => manifest?.permissions ?? []))
  if (listed.size === 0) return
  for (const { name, manifest, places } of all) {
    for (const [address, { authentication, permission }] of Object.entries(manifest?.endpoints ?? {})) {
      if (!authentication.includes('session') || permission === null || listed.has(permission)) continue
      const full = found.isFullOfWarnings
      const nearest = full ? null : nearestKey(permission, [...listed].slice(0, MAX_COMPARED))
      const meant = nearest === null ? '' : `; did you mean "${showName(nearest)}"?`
      const message = `"endpoints.${address}" requires the permission "${showName(permission)}", which no manifest lists, so no user can have it${meant}`
      const place = full ? {} : places.value(['endpoints', address, 'permission'])
      found.warn(`${folderOf(name)}${MANIFEST}`, 'endpoint_permission_unlisted', message, place)
    }
  }
}
