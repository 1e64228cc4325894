import { expect, test } from 'vitest'
import { createPrecedence } from '../../../host/solutions/precedence.ts'

test('precedence: a waiting caller continues only when all work with precedence has ended, even if that work failed', async () => {
  const precedence = createPrecedence()
  const [one, other] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const done: string[] = []
  const first = [one, other].map(({ promise }) => precedence.first(() => promise))
  const second = precedence.over().then(() => done.push('second'))
  one.resolve()
  await first[0]
  expect(done).toEqual([])
  other.reject(new Error('failed'))
  await expect(first[1]).rejects.toThrow('failed')
  await second
  expect(done).toEqual(['second'])
  await precedence.over()
})
