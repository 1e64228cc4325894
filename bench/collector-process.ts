// A telemetry collector that accepts everything and stores nothing, for measuring the row `telemetry`.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

let count = 0
const server = createServer((request, response) => {
  request.resume().on('end', () => {
    count++
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end()
  })
})
server.listen(0, '127.0.0.1', () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
})
process.on('message', () => process.send?.({ count }))
process.on('disconnect', () => process.exit(0))
