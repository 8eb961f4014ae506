import assert from 'node:assert/strict'
import * as ai from 'ai'
import { suite } from '../suite.mjs'

assert.equal(process.versions.node.split('.')[0], '22')
suite(ai, 7)
