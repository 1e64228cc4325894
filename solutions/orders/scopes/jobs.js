// The functions that solution.json names under "jobs". They run without a user.

/** Counts the orders by status, every working day at 6 a.m. The result is stored with the run. */
async function countOrders() {
  await setUpDatabase()
  return query('SELECT status, count(*) AS orders FROM orders GROUP BY status ORDER BY status')
}

/** Queued when the carrier has shipped an order. A real solution would send an email here, with the run's id as its key. */
async function thankCustomer({ id, data }) {
  await setUpDatabase()
  const order = await readOrder(data.order)
  if (!order) return { skipped: `there is no order with the id ${data.order}` }
  application.output(`thank you, ${order.customer}: ${order.number} is on its way (run ${id})`)
  return { mail: order.mail }
}
