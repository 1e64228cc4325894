import { expect, test } from 'vitest'
import { PROPERTIES } from '../../../base/config/properties.ts'
import { SETTING_GROUPS } from '../../../host/config/setting-groups.ts'
import { LIMITS } from '../../../runtime/limits.ts'

test('the settings page has each property and each limit in exactly one group', () => {
  const names = Object.values<readonly string[]>(SETTING_GROUPS).flat()
  expect(names.toSorted()).toEqual([...Object.keys(PROPERTIES), ...Object.keys(LIMITS)].toSorted())
})
