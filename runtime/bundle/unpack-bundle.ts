import { PlatformError } from '../errors.ts'
import type { Limits } from '../limits.ts'
import { Findings } from './findings.ts'
import { unpack } from './unpack.ts'
import { readDirectory } from './zip-directory.ts'

/**
 * Returns a bundle's unmodified files by name, in the bundle's order, including files that the layout does not use.
 * @param packed a bundle that `readBundle` accepted before
 * @param isWanted which files are unpacked; default: all
 * @throws ERR_BUNDLE_REFUSED if the bundle is no longer accepted, because limits were lowered
 */
export async function unpackBundle(
  packed: Uint8Array,
  limits: Limits,
  isWanted: (name: string) => boolean = () => true,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const found = new Findings()
  const zip = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength)
  const directory = await readDirectory(zip, limits, found)
  const files = new Map<string, Uint8Array>()
  for (const entry of directory?.entries ?? []) {
    if (!isWanted(entry.name)) continue
    const unpacked = await unpack(entry)
    if ('problem' in unpacked) found.fault(entry.name, 'zip_content', `"${entry.name}" ${unpacked.problem}`)
    else files.set(entry.name, unpacked.content)
  }
  if (!found.anyFault) return files
  throw new PlatformError(
    'ERR_BUNDLE_REFUSED',
    'The stored bundle exceeds the limits of this host. Raise the limits named in the errors, or upload a smaller bundle.',
    {
      faults: found.faults,
    },
  )
}
