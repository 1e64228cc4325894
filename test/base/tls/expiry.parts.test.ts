import { X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { namesNotCovered, publicNames, SOON, sayProblem, stateOfCertificate } from '../../../base/tls/expiry.ts'
import { readSettings } from '../../../host/config/settings.ts'
import { type CertificateFolder, certificateFolder } from '../../support/certificates.ts'

let folder: CertificateFolder
let x509: X509Certificate
let from: number
let to: number
beforeAll(async () => {
  folder = await certificateFolder()
  await folder.issue('site')
  x509 = new X509Certificate(folder.bytes('site.pem'))
  from = x509.validFromDate.getTime()
  to = x509.validToDate.getTime()
})
afterAll(() => folder[Symbol.dispose]())

const said = (now: number) => sayProblem(stateOfCertificate(x509, now), now)

test('expiry: each problem is reported from the exact millisecond', () => {
  const times = [from - 1, from, to - SOON - 1, to - SOON, to - 1, to]
  expect(times.map((now) => stateOfCertificate(x509, now).problem)).toEqual([
    'not-yet-valid',
    null,
    null,
    'expires-soon',
    'expires-soon',
    'expired',
  ])
})

test('expiry: each problem is reported in a sentence with the time and what to do', () => {
  const at = (time: number) => new Date(time).toISOString().replace('.000Z', 'Z')
  expect([said(from), said(from - 1), said(to - SOON), said(to - 86_400_000), said(to)]).toEqual([
    null,
    `The host’s certificate is not valid until ${at(from)}, so browsers block the pages. Check the host’s clock, or replace the certificate file.`,
    `The host’s certificate expires at ${at(to)}, in 30 days. Replace the certificate file; no restart is needed.`,
    `The host’s certificate expires at ${at(to)}, in 1 day. Replace the certificate file; no restart is needed.`,
    `The host’s certificate expired at ${at(to)}, so browsers block the pages. Replace the certificate file; no restart is needed.`,
  ])
})

test('expiry: host names in PUBLIC_URL and SOLUTION_ORIGIN that the certificate does not cover are reported, with support for wildcards and addresses', () => {
  const names = (properties: Record<string, string>) => publicNames(readSettings(properties))
  expect(names({})).toEqual([])
  const good = names({ PUBLIC_URL: 'https://apps.example.test', SOLUTION_ORIGIN: 'https://{name}.apps.example.test' })
  expect(good).toEqual(['apps.example.test', 'name.apps.example.test'])
  expect(namesNotCovered(x509, [...good, '127.0.0.1', '[::1]', 'deep.name.apps.example.test', 'example.test'])).toEqual(
    ['[::1]', 'deep.name.apps.example.test', 'example.test'],
  )
})
