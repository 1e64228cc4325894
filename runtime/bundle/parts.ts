import type { LimitName, Limits } from '../limits.ts'
import { type Findings, showName } from './findings.ts'
import { folderOf, type Place, placeOf, splitModule } from './layout.ts'
import { unpack } from './unpack.ts'
import type { SoundEntry, ZipDirectory } from './zip-directory.ts'

/**
 * Maximum size of a manifest, in bytes. Chosen here: a manifest with a thousand permissions is far smaller, and
 * manifests are parsed in the host.
 */
const MAX_MANIFEST_SIZE = 256 * 1024

export type PartFile = {
  /** The file's name in the ZIP file, such as `modules/crm/forms/login.json`. */
  readonly file: string
  readonly place: Place
  /** The file's content; null if the file was rejected or is unused. */
  readonly content: Uint8Array | null
}

/** The files of the solution itself, or the files of one folder in `modules/`, sorted by name. */
export type Part = { readonly module: string | null; readonly files: PartFile[] }

/** Unpacks and checks every file, and groups them into the solution (key null) and its modules by folder. */
export async function readParts(
  directory: ZipDirectory,
  limits: Limits,
  found: Findings,
): Promise<ReadonlyMap<string | null, Part>> {
  const parts = new Map<string | null, Part>([[null, { module: null, files: [] }]])
  const add = (file: string, content: Uint8Array | null) => {
    const { module, path } = splitModule(file)
    const part = parts.get(module) ?? { module, files: [] }
    parts.set(module, part)
    part.files.push({ file, place: placeOf(path), content })
  }
  for (const entry of directory.entries) add(entry.name, await readContent(entry, limits, found))
  for (const file of directory.refused) {
    if (placeOf(splitModule(file).path).kind !== 'unused') add(file, null)
  }
  for (const { files } of parts.values()) files.sort((a, b) => (a.file < b.file ? -1 : 1))
  return parts
}

async function readContent(entry: SoundEntry, limits: Limits, found: Findings): Promise<Uint8Array | null> {
  const { module, path } = splitModule(entry.name)
  const place = placeOf(path)
  const limit = limitOf(place, limits)
  if (entry.size > limit) {
    const name = limitNameOf(place)
    const allowed = name === null ? `at most ${limit} bytes are allowed` : `${name} allows at most ${limit}`
    found.fault(entry.name, 'too_large', `"${entry.name}" is ${entry.size} bytes; ${allowed}`)
    return null
  }
  const unpacked = await unpack(entry)
  if ('problem' in unpacked) {
    found.fault(entry.name, 'zip_content', `"${showName(entry.name)}" ${unpacked.problem}`)
    return null
  }
  const isModuleMedia = module !== null && (place.kind === 'media' || place.kind === 'loginTemplate')
  return place.kind === 'unused' || isModuleMedia ? null : unpacked.content
}

/** The maximum size in bytes of a file with this name. */
export function largestFile(name: string, limits: Limits): number {
  return Math.min(limitOf(placeOf(splitModule(name).path), limits), limits.BUNDLE_UNPACKED)
}

function limitOf(place: Place, limits: Limits): number {
  if (place.kind === 'manifest') return MAX_MANIFEST_SIZE
  const name = limitNameOf(place)
  return name === null ? Number.POSITIVE_INFINITY : limits[name]
}

function limitNameOf(place: Place): LimitName | null {
  switch (place.kind) {
    case 'loginTemplate':
      return 'TEMPLATE_SIZE'
    // Chosen here: forms and i18n tables have the same limit as scripts. Authors write them too, and a sandbox process
    // parses them.
    case 'script':
    case 'formScript':
    case 'form':
    case 'i18n':
      return 'SCRIPT_SIZE'
    default:
      return null
  }
}

/** Returns the part's files of one kind, with their place in the layout. */
export function filesOf<Kind extends Place['kind']>(
  part: Part | undefined,
  kind: Kind,
): (PartFile & { readonly place: Extract<Place, { kind: Kind }> })[] {
  const isOfKind = (file: PartFile): file is PartFile & { place: Extract<Place, { kind: Kind }> } =>
    file.place.kind === kind
  return part?.files.filter(isOfKind) ?? []
}

/** The folder's name as authors write it, without the trailing slash: `modules/crm`. */
export function folderName(part: Part): string {
  return folderOf(part.module).slice(0, -1)
}
