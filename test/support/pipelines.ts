import { expect } from 'vitest'
import yauzl from 'yauzl'
import type { TestCenter } from './center.ts'

/** Uploads a bundle to the packages of the organisation `acme`. */
export async function uploadPackage(center: TestCenter, bundle: Uint8Array): Promise<void> {
  const answer = await fetch(`${center.url}/api/organisations/acme/packages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await center.tokenOf('owner')}`, 'content-type': 'application/zip' },
    body: new Uint8Array(bundle),
  })
  if (!answer.ok) throw new Error(`the upload was answered ${answer.status}: ${await answer.text()}`)
}

type Wanted = {
  readonly name: string
  readonly package: string
  readonly repository?: string
  readonly host?: string
  readonly baseImage?: string
}

/** Adds a registry to the organisation `acme`, and a pipeline that pushes images to it. */
export async function makeTestPipeline(center: TestCenter, wanted: Wanted): Promise<void> {
  const { host = '123456789012.dkr.ecr.eu-west-1.amazonaws.com' } = wanted
  const keys = host.includes('.dkr.ecr.')
    ? { accessKeyId: 'AKIATESTTESTTEST1234', secretAccessKey: 'not-a-real-secret-but-long' }
    : { username: 'robot$acme+push', password: 'not-a-real-secret-but-long' }
  const place = { name: `registry of ${wanted.name}`, host, namespace: 'acme-solutions' }
  const registry = await center.api('POST', 'organisations/acme/registries', { ...place, ...keys })
  if (registry.status !== 201) throw new Error(`the registry was answered ${registry.status}: ${registry.text}`)
  const { name, package: of, repository = 'shop', baseImage = 'registry.example.org/solhost:1.0' } = wanted
  const pipeline = { name, package: of, registry: registry.body.id, repository, baseImage }
  const made = await center.api('POST', 'organisations/acme/pipelines', pipeline)
  if (made.status !== 201) throw new Error(`the pipeline was answered ${made.status}: ${made.text}`)
}

/**
 * Starts a pipeline run and waits until it has finished.
 * @returns the finished run
 */
export async function runToItsEnd(center: TestCenter, pipeline: string, wanted: object = {}) {
  const runs = `organisations/acme/pipelines/${pipeline}/runs`
  const { body, status, text } = await center.api('POST', runs, wanted)
  if (status !== 201) throw new Error(`the run was answered ${status}: ${text}`)
  const read = async () => (await center.api('GET', `${runs}/${body.number}`)).body
  await expect.poll(async () => (await read()).state).not.toBe('running')
  return read()
}

/**
 * Unpacks a ZIP file.
 * @returns the files' contents by name, in the order of the entries
 */
export async function unpackZip(packed: Buffer): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>()
  const zip = await yauzl.fromBufferPromise(packed)
  for await (const entry of zip.eachEntry()) {
    const chunks: Buffer[] = []
    for await (const chunk of await zip.openReadStreamPromise(entry)) chunks.push(chunk as Buffer)
    files.set(entry.fileName, Buffer.concat(chunks))
  }
  return files
}
