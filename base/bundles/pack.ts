import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import yazl from 'yazl'

/** Packs a solution's folder as a bundle. The same files always produce the same bytes, and so the same SHA-256. */
export function packFolder(folder: string): Promise<Buffer> {
  return packFiles(filesBelow(folder).map((name) => [name, readFileSync(join(folder, name))]))
}

/** @param files sorted by their names in the bundle */
export async function packFiles(files: Iterable<readonly [name: string, content: Buffer]>): Promise<Buffer> {
  const zip = new yazl.ZipFile()
  for (const [name, content] of files) zip.addBuffer(content, name, { mtime: new Date(2000, 0, 1), mode: 0o100644 })
  zip.end()
  const chunks: Buffer[] = []
  for await (const chunk of zip.outputStream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

function filesBelow(folder: string): string[] {
  return (readdirSync(folder, { recursive: true }) as string[])
    .filter((name) => statSync(join(folder, name)).isFile())
    .map((name) => name.replaceAll('\\', '/'))
    .sort()
}
