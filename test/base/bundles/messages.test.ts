import { expect, test } from 'vitest'
import { createMessages, PLATFORM_TABLES } from '../../../base/bundles/messages.ts'
import { platformText } from '../../../base/web/texts.ts'

const OWN = { default: { 'platform.reference': 'Ticket:' }, nl: { greeting: 'Hallo' } }

test('messages: texts are taken from the solution by locale, language or default, then from the platform', () => {
  const dutch = createMessages(OWN, 'nl-BE')
  expect(dutch('greeting')).toBe('Hallo')
  expect(dutch('platform.reference')).toBe('Ticket:')
  expect(dutch('platform.logindialog.password')).toBe(platformText('nl', 'platform.logindialog.password'))
  expect(createMessages(OWN, 'pt')('platform.logindialog.password')).toBe(
    platformText('en', 'platform.logindialog.password'),
  )
  expect(dutch('nothing')).toBeNull()
})

test('messages: a solution gets the texts for end-user pages, but not those for admin pages', () => {
  expect(platformText('en', 'admin.signin.title')).not.toBe('!admin.signin.title!')
  expect(createMessages({}, 'en')('admin.signin.title')).toBeNull()
  expect(PLATFORM_TABLES['platform default']).toEqual(PLATFORM_TABLES['platform en'])
  const keys = Object.values(PLATFORM_TABLES).flatMap((table) => Object.keys(table))
  expect(keys).toContain('platform.logindialog.password')
  expect(keys.filter((key) => key.startsWith('admin.'))).toEqual([])
})
