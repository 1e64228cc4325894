import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { certificateProblem } from '../../../base/outbound/certificate-problem.ts'
import { whyNoAnswer } from '../../../base/outbound/read-answer.ts'
import { certificateFolder } from '../../support/certificates.ts'

test('no answer: if the server’s certificate is not trusted, the reason names the setting that fixes it', async () => {
  using folder = await certificateFolder()
  await folder.issue('site')
  const pem = (name: string) => readFileSync(join(folder.path, name))
  const server = createServer({ cert: Buffer.concat([pem('site.pem'), pem('ca.pem')]), key: pem('site-key.pem') })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const error = await fetch(`https://localhost:${port}/`).catch((why: unknown) => why)
  server.close()
  expect(whyNoAnswer(error)).toBe(
    'the server’s certificate (SELF_SIGNED_CERT_IN_CHAIN) is not trusted. If your own certificate authority issued it, ' +
      'set NODE_EXTRA_CA_CERTS to the authority’s certificate file',
  )
})

test.each([
  ['CERT_HAS_EXPIRED', /has expired/],
  ['CERT_NOT_YET_VALID', /clock/],
  ['ERR_TLS_CERT_ALTNAME_INVALID', /other host names/],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', /NODE_EXTRA_CA_CERTS/],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', /NODE_EXTRA_CA_CERTS/],
])('no answer: %s is explained', (code, text) => {
  expect(certificateProblem(code)).toMatch(text)
})

test('no answer: a code that is not about a certificate is shown unchanged', () => {
  expect(whyNoAnswer({ cause: { code: 'ECONNREFUSED' } })).toBe('ECONNREFUSED')
})
