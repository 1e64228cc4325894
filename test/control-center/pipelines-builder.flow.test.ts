import { chmodSync, cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { readCenterSettings } from '../../control-center/config/settings.ts'
import { openCenterDatabase } from '../../control-center/migrations/open.ts'
import { logInToRegistry, signingKey } from '../../control-center/pipelines/registry-login.ts'
import { startTestCenter, type TestCenter } from '../support/center.ts'
import { temporaryFolder } from '../support/cli.ts'
import { makeTestPipeline, runToItsEnd, uploadPackage } from '../support/pipelines.ts'
import { waitUntil } from '../support/wait-until.ts'
import { bundleOf } from '../support/zip.ts'

/** Writes a builder as a short shell script, which runs as a real process. */
function builderIn(folder: string, script: string): string {
  const file = join(folder, 'builder')
  writeFileSync(file, `#!/bin/sh\n${script}\n`)
  chmodSync(file, 0o755)
  return file
}

/**
 * Data with the package `shop` and the pipeline `image`. Tests copy it to avoid another upload, which would start a
 * process.
 */
const prepared = temporaryFolder()
beforeAll(async () => {
  const center = await startTestCenter({}, { home: prepared.path })
  await uploadPackage(center, await bundleOf({ name: 'shop' }))
  await makeTestPipeline(center, { name: 'image', package: 'shop', host: 'registry.example.org', baseImage: 'scratch' })
  await center.stop()
})
afterAll(() => prepared[Symbol.dispose]())

async function startWithPipeline(builder: string, home?: string): Promise<TestCenter> {
  const own = home === undefined ? temporaryFolder() : null
  const copy = home ?? join(own?.path ?? '', 'home')
  cpSync(prepared.path, copy, { recursive: true })
  const center = await startTestCenter({ BUILDER_COMMAND: builder }, { home: copy })
  onTestFinished(async () => {
    await center.stop()
    own?.[Symbol.dispose]()
  })
  return center
}

const RUN = 'organisations/acme/pipelines/image/runs/1'

/** A zombie has exited, although its parent has not reaped it yet. */
function isAlive(pid: number): boolean {
  const file = `/proc/${pid}/stat`
  return existsSync(file) && !/\) Z /.test(readFileSync(file, 'utf8'))
}

/** A builder that writes its child's process id to a file and waits for the child. */
const waiting = (folder: string) => `[ "$1" = rmi ] && exit 0\nsleep 1000 &\necho $! >${folder}/pid\nwait`

async function childOf(folder: string): Promise<number> {
  await waitUntil(() => expect(readFileSync(join(folder, 'pid'), 'utf8')).toMatch(/^\d+\n/))
  return Number(readFileSync(join(folder, 'pid'), 'utf8'))
}

test('cancelling a run terminates the builder and all its child processes', async () => {
  using folder = temporaryFolder()
  const center = await startWithPipeline(builderIn(folder.path, waiting(folder.path)))
  await center.api('POST', 'organisations/acme/pipelines/image/runs', {})
  const child = await childOf(folder.path)
  expect(isAlive(child)).toBe(true)
  const { body } = await center.api('POST', `${RUN}/cancel`)
  expect(body.state).toBe('cancelled')
  expect(body.steps.map((step: { state: string }) => step.state)).toEqual([
    ...['done', 'done', 'done'],
    ...['skipped', 'skipped'],
  ])
  await waitUntil(() => expect(isAlive(child)).toBe(false))
})

test('a run is interrupted when the control center stops or has crashed', async () => {
  using folder = temporaryFolder()
  const home = join(folder.path, 'home')
  const builder = builderIn(folder.path, waiting(folder.path))
  const first = await startWithPipeline(builder, home)
  await first.api('POST', 'organisations/acme/pipelines/image/runs', {})
  const child = await childOf(folder.path)
  await first.stop()
  expect(isAlive(child)).toBe(false)
  const db = await openCenterDatabase(readCenterSettings({ PLATFORM_HOME: home }))
  const row = await db.selectFrom('pipeline_runs').select(['state', 'steps']).executeTakeFirstOrThrow()
  expect(row.state).toBe('interrupted')
  const steps = row.steps.replaceAll('"skipped"', '"running"')
  await db.updateTable('pipeline_runs').set({ state: 'running', steps, ended_at: null }).execute()
  await db.destroy()
  const second = await startTestCenter({}, { home })
  onTestFinished(() => second.stop())
  const { body } = await second.api('GET', RUN)
  expect([body.state, body.steps[3].state]).toEqual(['interrupted', 'skipped'])
})

test('a failing builder fails the run; its output has no colors or secrets, and its environment contains only what it needs', async () => {
  using folder = temporaryFolder()
  const script = `printf '\\033[31mred\\033[0m\\n'; env; cat "$(dirname "$PWD")"/*/auth.json; ls -l auth.json; exit 3`
  vi.stubEnv('DB_ALPHA_PASSWORD', 'not-for-builders')
  onTestFinished(() => void vi.unstubAllEnvs())
  const center = await startWithPipeline(builderIn(folder.path, script))
  const run = await runToItsEnd(center, 'image')
  expect(run).toMatchObject({ state: 'failed' })
  expect(run.steps.slice(3).map((step: { state: string }) => step.state)).toEqual(['failed', 'skipped'])
  const { text } = await center.api('GET', `${RUN}/log`)
  expect(text).toContain('"red"')
  expect(text).toContain('failed with exit code 3. Check the log lines above.')
  expect(text).toMatch(/-rw-------.*auth\.json/)
  for (const secret of ['not-a-real-secret-but-long', 'not-for-builders', 'DB_ALPHA'])
    expect(text).not.toContain(secret)
})

test('an organisation can have a limited number of active and waiting runs, so that others don’t wait too long', async () => {
  using folder = temporaryFolder()
  const center = await startWithPipeline(builderIn(folder.path, waiting(folder.path)))
  const names = ['image', ...Array.from({ length: 5 }, (_, at) => `image-${at}`)]
  for (const name of names.slice(1)) {
    await makeTestPipeline(center, { name, package: 'shop', host: 'registry.example.org', baseImage: 'scratch' })
  }
  const statuses = []
  for (const name of names) {
    statuses.push((await center.api('POST', `organisations/acme/pipelines/${name}/runs`, {})).status)
  }
  expect(statuses).toEqual([201, 201, 201, 201, 201, 503])
})

test('if the builder cannot show a registry base image’s instructions, the run fails', async () => {
  using folder = temporaryFolder()
  const script = `echo "$1" >>${folder.path}/words\n[ "$1" = pull ] && echo ${'a'.repeat(64)}\nexit 0`
  const center = await startWithPipeline(builderIn(folder.path, script))
  const wanted = {
    name: 'based',
    package: 'shop',
    host: 'registry.example.org',
    baseImage: 'registry.example.org/base:1',
  }
  await makeTestPipeline(center, wanted)
  expect((await runToItsEnd(center, 'based')).state).toBe('failed')
  expect((await center.api('GET', RUN.replace('image', 'based').concat('/log'))).text).toContain('ONBUILD')
  expect(readFileSync(join(folder.path, 'words'), 'utf8')).not.toContain('build\n')
})

test('if the builder is missing, the run fails with a message that contains its name', async () => {
  const center = await startWithPipeline('/nowhere/builder')
  expect((await runToItsEnd(center, 'image')).state).toBe('failed')
  expect((await center.api('GET', `${RUN}/log`)).text).toContain('/nowhere/builder')
})

test('signature: the signing key equals the one in the published example', () => {
  // AWS General Reference, "Examples of how to derive a signing key for Signature Version 4".
  const key = signingKey('wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY', '20150830', 'us-east-1', 'iam')
  expect(key.toString('hex')).toBe('c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9')
})

test('Amazon ECR returns a login password for the access keys; if it rejects them, the error does not contain the keys', async () => {
  const registry = { host: '123456789012.dkr.ecr.eu-west-1.amazonaws.com', region: 'eu-west-1' }
  const keys = { accessKeyId: 'AKIATESTTESTTEST1234', secretAccessKey: 'not-a-real-secret-but-long' }
  const asked: { url: string; headers: Headers; body: unknown }[] = []
  const answering = (status: number, body: object): typeof fetch => {
    return async (url, init) => {
      asked.push({ url: String(url), headers: new Headers(init?.headers), body: init?.body })
      return new Response(JSON.stringify(body), { status })
    }
  }
  const authorizationToken = Buffer.from('AWS:a-password-of-hours').toString('base64')
  const login = await logInToRegistry(registry, keys, answering(200, { authorizationData: [{ authorizationToken }] }))
  expect(login).toEqual({ username: 'AWS', password: 'a-password-of-hours' })
  expect(asked[0]?.url).toBe('https://api.ecr.eu-west-1.amazonaws.com/')
  expect(asked[0]?.headers.get('authorization')).toMatch(
    /^AWS4-HMAC-SHA256 Credential=AKIATESTTESTTEST1234\/\d{8}\/eu-west-1\/ecr\/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=[0-9a-f]{64}$/,
  )
  const refused = await logInToRegistry(registry, keys, answering(400, {})).catch((error: Error) => error)
  expect(refused).toMatchObject({ code: 'ERR_REGISTRY_LOGIN' })
  expect(String(refused)).not.toContain(keys.secretAccessKey)
})

test('a registry on the control center’s machine is not contacted, neither for a push nor for a base image', async () => {
  using folder = temporaryFolder()
  const asked = join(folder.path, 'asked')
  const center = await startWithPipeline(builderIn(folder.path, `[ "$1" = rmi ] || echo "$@" >>${asked}`))
  const registry = { package: 'shop', host: '127.0.0.1:5000', baseImage: 'scratch' }
  await makeTestPipeline(center, { ...registry, name: 'push' })
  await makeTestPipeline(center, {
    ...registry,
    name: 'base',
    host: 'registry.example.org',
    baseImage: '127.0.0.1:5000/a',
  })
  for (const name of ['push', 'base']) {
    const { state, number } = await runToItsEnd(center, name)
    const log = (await center.api('GET', `organisations/acme/pipelines/${name}/runs/${number}/log`)).text
    expect([state, log]).toEqual(['failed', expect.stringContaining('add 127.0.0.1:5000 to REGISTRY_ALLOWED_HOSTS')])
  }
  expect(existsSync(asked)).toBe(false)
})

test('if the builder cannot have a separate network, the log says at startup what it can still reach', async () => {
  using folder = temporaryFolder()
  vi.stubEnv('PATH', folder.path)
  onTestFinished(() => void vi.unstubAllEnvs())
  const center = await startTestCenter({ BUILDER_COMMAND: 'buildah' })
  onTestFinished(() => center.stop())
  expect(center.logged()).toContain('a registry could redirect it to loopback addresses')
})

test('while a run is active, no second one starts, and its pipeline cannot be deleted', async () => {
  using folder = temporaryFolder()
  const center = await startWithPipeline(builderIn(folder.path, waiting(folder.path)))
  const runs = 'organisations/acme/pipelines/image/runs'
  expect((await center.api('POST', runs, {})).status).toBe(201)
  await childOf(folder.path)
  const second = await center.api('POST', runs, {})
  expect([second.status, second.body.code]).toEqual([409, 'ERR_RUN_GOING_ON'])
  expect((await center.api('DELETE', 'organisations/acme/pipelines/image')).body.code).toBe('ERR_RUN_GOING_ON')
})
