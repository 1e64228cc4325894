import { hash } from 'node:crypto'
import type { Limits } from '../limits.ts'
import type { Bundle } from './bundle.ts'
import { type BundleFiles, bundleFiles } from './bundle-files.ts'
import { checkEndpoints } from './endpoint-checks.ts'
import type { Fault, Warning } from './faults.ts'
import { Findings, showName, WHOLE_BUNDLE } from './findings.ts'
import { checkJobs } from './job-checks.ts'
import type { JsonPlaces } from './json-places.ts'
import { folderOf, MANIFEST } from './layout.ts'
import type { AuthenticatorMode, Manifest } from './manifest.ts'
import { SECRET_PLACEHOLDER } from './manifest-schema.ts'
import { type Modules, type ReadManifest, reachableModules, readManifest, readModules } from './modules.ts'
import { nearestKey } from './nearest-key.ts'
import { filesOf, folderName, type Part, readParts } from './parts.ts'
import { readDirectory, type ZipDirectory } from './zip-directory.ts'

export type BundleReading = {
  /** The bundle; null if there is any error. */
  readonly bundle: Bundle | null
  readonly faults: readonly Fault[]
  readonly warnings: readonly Warning[]
}

/**
 * Maximum number of names to compare for a suggestion. Chosen here: a bundle may have 2,000 forms, and it takes time to
 * compare names.
 */
const MAX_COMPARED = 200
/** Only this many names at the start of a list get a suggestion. Chosen here: they are enough to show the mistake. */
const MAX_SUGGESTED = 10

const MODES_WITH_AUTHENTICATOR: ReadonlySet<AuthenticatorMode> = new Set([
  'AUTHENTICATOR',
  'OAUTH',
  'OAUTH_AUTHENTICATOR',
])

/**
 * Reads a packed bundle. Never throws because of its content: every error found is listed.
 * @param takesPasskeys whether this solution's manifest may require passkeys; by default, any manifest may
 */
export async function readBundle(
  packed: Uint8Array,
  limits: Limits,
  takesPasskeys: PasskeyCheck = async () => true,
): Promise<BundleReading> {
  const found = new Findings()
  const bundle = await read(packed, limits, takesPasskeys, found)
  return { bundle: found.anyFault ? null : bundle, faults: found.faults, warnings: found.warnings }
}

type PasskeyCheck = (solution: string) => Promise<boolean>

async function read(
  packed: Uint8Array,
  limits: Limits,
  takesPasskeys: PasskeyCheck,
  found: Findings,
): Promise<Bundle | null> {
  if (packed.length > limits.BUNDLE_SIZE) {
    const size = `the bundle is ${packed.length} bytes; BUNDLE_SIZE allows at most ${limits.BUNDLE_SIZE}`
    found.fault(WHOLE_BUNDLE, 'too_large', size)
    return null
  }
  const zip = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength)
  const directory = await readDirectory(zip, limits, found)
  if (directory === null || liesInFolder(directory, found) || isWorkspace(directory, found)) return null
  const parts = await readParts(directory, limits, found)
  const main = readManifest(parts.get(null) as Part, found)
  const modules = await readModules(main, parts, found)
  const reached = [...modules.reached.map(({ name }) => parts.get(name) as Part), parts.get(null) as Part]
  checkMain(main, modules, reached, found)
  await checkPasskeys(main, takesPasskeys, found)
  // Without a readable manifest, every module would seem unused.
  if (main.manifest !== null) warnOfUnreached(parts, reached, found)
  const files = bundleFiles(reached, found)
  checkSources(files, limits, found)
  const known = modules.reached.flatMap(({ name, manifest }) => (manifest === null ? [] : [{ name, manifest }]))
  if (main.manifest === null) return null
  const places = new Map([{ name: null, places: main.places }, ...modules.reached].map((one) => [one.name, one.places]))
  const sha256 = hash('sha256', zip, 'hex')
  return { sha256, bytes: zip.length, manifest: main.manifest, modules: known, places, ...files }
}

async function checkPasskeys(
  { manifest, places }: ReadManifest,
  takesPasskeys: PasskeyCheck,
  found: Findings,
): Promise<void> {
  if (manifest?.signIn?.secondFactor !== 'passkey' || (await takesPasskeys(manifest.name))) return
  const message =
    '"signIn.secondFactor" is "passkey", but this host doesn’t offer passkeys for the solution; use "required" instead'
  found.fault(MANIFEST, 'passkeys_unavailable', message, places.value(['signIn', 'secondFactor']))
}

/** Detects the most common mistake: zipping the folder instead of its contents. */
function liesInFolder(directory: ZipDirectory, found: Findings): boolean {
  const names = [...directory.entries.map(({ name }) => name), ...directory.refused]
  if (names.includes(MANIFEST)) return false
  const inFolder = names.find((name) => name.endsWith(`/${MANIFEST}`) && name.split('/').length === 2)
  if (inFolder === undefined) return false
  const folder = inFolder.slice(0, -MANIFEST.length - 1)
  const advice = `zip the contents of the folder "${folder}", not the folder itself: ${MANIFEST} must be at the top level`
  found.fault(inFolder, 'manifest_in_folder', advice)
  return true
}

/** Files that occur only in a workspace of the original product, or in its export. */
const OF_WORKSPACE = /(?:^|\/)(?:solution_settings\.obj|rootmetadata\.obj|medias\.obj|[^/]+\.frm|[^/]+\.servoy)$/i

function isWorkspace(directory: ZipDirectory, found: Findings): boolean {
  const names = [...directory.entries.map(({ name }) => name), ...directory.refused]
  if (names.includes(MANIFEST)) return false
  const one = names.find((name) => OF_WORKSPACE.test(name))
  if (one === undefined) return false
  const advice = 'Create a solution with "solhost init" and move scripts, forms and media into it (docs/migrating.md)'
  const message = `this is a workspace or export of the original product, not a bundle: it contains "${showName(one)}". ${advice}`
  found.fault(MANIFEST, 'manifest_missing', message)
  return true
}

/**
 * Chosen here: a total limit. The host sends these files to a sandbox process in one message, which must not block the
 * host for long.
 */
function checkSources({ scripts, formScripts, forms, i18n }: BundleFiles, limits: Limits, found: Findings): void {
  const size = [scripts, formScripts, forms, i18n].flat().reduce((sum, { source }) => sum + source.length, 0)
  if (size <= limits.SOURCES_SIZE) return
  const message = `the bundle’s scripts, forms and translations have ${size} characters in total; SOURCES_SIZE allows at most ${limits.SOURCES_SIZE}`
  found.fault(WHOLE_BUNDLE, 'too_large', message)
}

function checkMain(main: ReadManifest, modules: Modules, reached: readonly Part[], found: Findings): void {
  const { manifest, names, places } = main
  if (manifest !== null && manifest.type !== 'solution') {
    const message = `"type" in the bundle’s ${MANIFEST} must be "solution", not "${manifest.type}"`
    found.fault(MANIFEST, 'manifest_invalid', message, places.value(['type']))
  }
  checkForms(main, modules, reached, found)
  const { loginSolution } = names
  if (loginSolution !== null && !modules.reached.some(({ name }) => name === loginSolution)) {
    const message = `"loginSolution" names "${loginSolution}", which is not one of the solution’s modules; add it to "modules"`
    found.fault(MANIFEST, 'module_missing', message, places.value(['loginSolution']))
  }
  if (manifest === null) return
  checkAuthenticators(manifest, modules, places, found)
  checkSignIn(manifest, modules, places, found)
  checkEndpoints(main, modules, found)
  checkJobs(main, modules, found)
  warnOfOAuth(manifest, places, found)
}

/**
 * Forms that the manifest refers to must be available to clients. Forms in authenticator modules are not available to
 * them.
 */
function checkForms(main: ReadManifest, modules: Modules, reached: readonly Part[], found: Findings): void {
  const { forms, modules: named, loginSolution } = main.names
  const byName = new Map(modules.reached.map((module) => [module.name, module]))
  const forClients = reachableModules(
    named,
    (name) => byName.get(name)?.names.modules ?? [],
    (name) => byName.get(name)?.manifest?.type !== 'authenticator' && name !== loginSolution,
  )
  const known = formNames(reached.filter(({ module }) => module === null || forClients.has(module)))
  const others = formNames(reached)
  for (const form of new Set(forms)) {
    if (known.has(form)) continue
    const nearest = found.isFull ? null : nearestKey(form, [...known].slice(0, MAX_COMPARED))
    const meant = nearest === null ? '' : `; did you mean "${nearest}"?`
    const where = others.has(form)
      ? 'is only in a module that signs users in, so clients cannot show it'
      : 'is not in the solution or its modules'
    found.fault(MANIFEST, 'form_missing', `forms/${form}.json ${where}${meant}`, main.places.text(form))
  }
}

function formNames(parts: readonly Part[]): Set<string> {
  return new Set(parts.flatMap((part) => filesOf(part, 'form').map(({ place }) => place.base)))
}

function checkAuthenticators(
  main: Manifest,
  { reached, complete }: Modules,
  places: JsonPlaces,
  found: Findings,
): void {
  if (!MODES_WITH_AUTHENTICATOR.has(main.authenticator)) return
  const names = reached.filter(({ manifest }) => manifest?.type === 'authenticator').map(({ name }) => name)
  // Don't report a missing authenticator: a module that is missing or invalid may be the authenticator.
  if (names.length === 1 || (names.length === 0 && !complete)) return
  const those = names.length === 0 ? 'found none' : `found ${names.slice(0, 10).join(', ')}`
  const rule = `"authenticator": "${main.authenticator}" requires exactly one module of type authenticator`
  found.fault(MANIFEST, 'authenticator_count', `${rule}; ${those}`, places.value(['authenticator']))
}

/**
 * Rejects permissions in `requiredFor` that no manifest lists. Nobody can have such a permission, so the rule would
 * apply to nobody.
 */
function checkSignIn(main: Manifest, { reached, complete }: Modules, places: JsonPlaces, found: Findings): void {
  if (main.signIn === null) return
  const { requiredFor } = main.signIn
  const listed = new Set([main, ...reached.map(({ manifest }) => manifest)].flatMap((one) => one?.permissions ?? []))
  // If a module is missing or invalid, don't check this, because that module may list the other permissions.
  if (listed.size === 0 || !complete) return
  for (const [index, name] of (requiredFor ?? []).entries()) {
    if (listed.has(name)) continue
    const nearest = index < MAX_SUGGESTED ? nearestKey(name, [...listed].slice(0, MAX_COMPARED)) : null
    const meant = nearest === null ? '' : `; did you mean "${showName(nearest)}"?`
    const message = `"signIn.requiredFor" names the permission "${showName(name)}", which no manifest lists in "permissions"${meant}`
    found.fault(MANIFEST, 'manifest_invalid', message, places.value(['signIn', 'requiredFor', index]))
  }
}

function warnOfOAuth({ authenticator, oauth }: Manifest, places: JsonPlaces, found: Findings): void {
  if (authenticator === 'OAUTH' && oauth === null) {
    const advice =
      'add "oauth" to the manifest, or ask the operator to set up OAuth with PUT /admin/api/solutions/{name}/oauth'
    const message = `"authenticator" is "OAUTH", but there are no "oauth" settings; ${advice}`
    found.warn(MANIFEST, 'oauth_missing', message, places.value(['authenticator']))
  }
  if (oauth?.apiSecret !== undefined && !SECRET_PLACEHOLDER.test(oauth.apiSecret)) {
    const advice = 'write "%%NAME%%" instead, and ask the operator to set the secret NAME'
    const message = `"oauth.apiSecret" contains the secret itself: ${advice}`
    found.warn(MANIFEST, 'oauth_secret_written', message, places.key(['oauth', 'apiSecret']))
  }
}

function warnOfUnreached(parts: ReadonlyMap<string | null, Part>, reached: readonly Part[], found: Findings): void {
  for (const part of parts.values()) {
    if (reached.includes(part)) continue
    const name = folderName(part)
    found.warn(
      name,
      'file_unused',
      `no manifest lists this module in "modules", so ${folderOf(part.module)} is not used; list it or remove the folder`,
    )
  }
}
