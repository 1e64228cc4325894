import { mkdirSync, renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type HostCertificate, watchCertificate } from '../../../base/tls/watch-certificate.ts'
import { CERTIFICATE_PASS, type CertificateFolder, certificateFolder } from '../../support/certificates.ts'
import { waitUntil } from '../../support/wait-until.ts'

let folder: CertificateFolder
beforeAll(async () => {
  folder = await certificateFolder()
  for (const name of ['first', 'second']) await folder.issue(name)
  await folder.issue('short', { days: 3, names: 'DNS:short.example.test' })
})
afterAll(() => folder[Symbol.dispose]())

const running: HostCertificate[] = []
afterEach(() => {
  for (const one of running.splice(0)) one.stop()
})

function watch(file: string, options: { names?: string[]; now?: () => number; passphraseFile?: string } = {}) {
  const lines: string[] = []
  const take = (...words: unknown[]) =>
    void lines.push(words.map((word) => (typeof word === 'string' ? word : '')).join(''))
  const log = { info: take, warn: take, error: take }
  const { names = [], now = Date.now, passphraseFile = null } = options
  const source = {
    file: join(folder.path, file),
    passphrase: passphraseFile === null ? CERTIFICATE_PASS : 'of the start',
    passphraseFile: passphraseFile === null ? null : join(folder.path, passphraseFile),
  }
  const certificate = watchCertificate(source, { log: log as never, names, every: 10, now })
  running.push(certificate)
  const taken: string[] = []
  certificate.onChange(({ x509 }) => taken.push(x509.subject))
  return { certificate, lines, taken }
}

/** Replaces a file atomically. */
function put(file: string, name: string): void {
  folder.write(`${file}.part`, folder.bytes(name))
  renameSync(join(folder.path, `${file}.part`), join(folder.path, file))
}

test('watch: a new file is loaded without a restart; one with only a new modification time is not', async () => {
  put('live.p12', 'first.p12')
  const { certificate, lines, taken } = watch('live.p12')
  put('live.p12', 'first.p12')
  put('live.p12', 'second.p12')
  await waitUntil(() => expect(taken).toEqual(['CN=second']))
  expect(certificate.current().x509.subject).toBe('CN=second')
  expect(lines).toEqual(['a new certificate is in use'])
  put('live.p12', 'second.p12')
  put('live.p12', 'first.p12')
  await waitUntil(() => expect(taken).toEqual(['CN=second', 'CN=first']))
})

test('watch: if a new file is broken, the old one stays in use and the error is reported once; a valid file replaces it', async () => {
  put('mended.p12', 'first.p12')
  const { certificate, lines, taken } = watch('mended.p12')
  put('mended.p12', 'second.pem')
  await waitUntil(() => expect(certificate.state().refused).toMatch(/is a PEM certificate without its private key/))
  expect(certificate.current().x509.subject).toBe('CN=first')
  expect(lines).toEqual([
    `The new certificate was rejected, so the previous one stays in use. Reason: ${certificate.state().refused}`,
  ])
  put('mended.p12', 'second.p12')
  await waitUntil(() => expect(taken).toEqual(['CN=second']))
  expect(certificate.state().refused).toBe(null)
  expect(lines).toHaveLength(2)
})

test('watch: if the file in use is restored, that is reported', async () => {
  put('back.p12', 'first.p12')
  const { lines, taken } = watch('back.p12')
  put('back.p12', 'second.pem')
  await waitUntil(() => expect(lines).toHaveLength(1))
  put('back.p12', 'first.p12')
  await waitUntil(() => expect(lines).toHaveLength(2))
  expect(lines[1]).toBe('the certificate file was changed back to the certificate in use')
  expect(taken).toEqual([])
})

test('watch: if the file is removed, that is reported once, and the certificate stays in use', async () => {
  put('gone.p12', 'first.p12')
  const { certificate, lines } = watch('gone.p12')
  renameSync(join(folder.path, 'gone.p12'), join(folder.path, 'elsewhere.p12'))
  await waitUntil(() => expect(lines).toHaveLength(1))
  expect(lines[0]).toContain('does not exist')
  expect(certificate.current().x509.subject).toBe('CN=first')
})

test('watch: a Kubernetes secret, whose folder is a link with a changing target, is reloaded together with its password', async () => {
  for (const name of ['first', 'second']) {
    mkdirSync(join(folder.path, `..${name}`))
    put(`..${name}/site.p12`, `${name}.p12`)
    folder.write(`..${name}/pass`, `${CERTIFICATE_PASS}\n`)
  }
  await folder.openssl('pkcs12 -export -in second.pem -inkey second-key.pem -out ..second/site.p12 -passout pass:new')
  folder.write('..second/pass', 'new\n')
  symlinkSync('..first', join(folder.path, '..data'))
  symlinkSync('..data/site.p12', join(folder.path, 'site.p12'))
  const { certificate, taken, lines } = watch('site.p12', { passphraseFile: '..data/pass' })
  symlinkSync('..second', join(folder.path, '..data_tmp'))
  renameSync(join(folder.path, '..data_tmp'), join(folder.path, '..data'))
  await waitUntil(() => expect(taken).toEqual(['CN=second']))
  expect(certificate.current().passphrase).toBe('new')
  expect(lines).toEqual(['a new certificate is in use'])
})

test('watch: a certificate that expires soon, or does not cover the host names, is reported at startup and daily', async () => {
  let time = Date.now()
  const { certificate, lines } = watch('short.p12', { names: ['short.example.test', 'b.test'], now: () => time })
  expect(certificate.state().problem).toBe('expires-soon')
  expect(lines).toEqual([
    expect.stringMatching(/^The host’s certificate expires at .+, in 2 days\. Replace the certificate file;/),
    'The host’s certificate is not valid for b.test, so browsers block the pages there. Replace the certificate file with one that covers all of the host’s names.',
  ])
  time += 86_400_000
  await waitUntil(() => expect(lines).toHaveLength(3))
  expect(lines[2]).toContain('in 1 day.')
})
