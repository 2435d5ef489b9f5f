/* fun commented() {} */
package shop

import java.io.File

const val LIMIT = 20
val text = """
fun inText() {
"""

data class Item(val name: String, val price: Int = 0)

interface Store<K> {
    fun get(key: K): Int?
}

sealed class Cart(private val limit: Int) : Store<String> {
    constructor() : this(LIMIT)

    override fun get(key: String): Int? = null

    suspend fun send(
        to: String,
        retries: Int = 3,
    ): Boolean {
        fun inner() {}
        return true
    }

    companion object {
        fun load(file: File) = Unit
    }
}

object Shared : Store<Int> {
    override fun get(key: Int) = key
}

enum class Level { LOW, HIGH }

typealias Names = List<String>

fun <T> List<T>.second(): T = this[1]

fun main() {
    println("class No")
}
