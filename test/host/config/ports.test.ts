import { expect, test } from 'vitest'
import { readSettings } from '../../../host/config/settings.ts'

function faultOf(environment: Record<string, string>): string | null {
  try {
    readSettings({ PORT: '8090', ADMIN_PORT: '8090', ...environment })
    return null
  } catch (error) {
    return (error as Error).message
  }
}

test.each([{}, { HOST: '0.0.0.0' }, { HOST: '::' }, { HOST: '10.0.0.5', ADMIN_HOST: '0.0.0.0' }])(
  'ports: PORT and ADMIN_PORT must differ with %j',
  (addresses) => {
    expect(faultOf(addresses)).toContain('  ADMIN_PORT must differ from PORT, but both are "8090"')
  },
)

test.each([
  { HOST: '10.0.0.5' },
  { HOST: '0.0.0.0', ADMIN_HOST: '::1' },
  { PORT: '0', ADMIN_PORT: '0' },
  { ADMIN_PORT: '8091' },
])('ports: %j is valid, because both listeners can be opened', (environment) => {
  expect(faultOf(environment)).toBeNull()
})
