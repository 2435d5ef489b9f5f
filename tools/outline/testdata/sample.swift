/* func commented() {} /* nested */ class No {} */
import Foundation

let text = """
func inString() {
"""
let raw = #"class "No" {"#

public protocol Store: AnyObject {
    associatedtype Key
    func get(_ key: Key) -> Int?
}

final class Cart: NSObject {
    private var items: [String: Int] = [:]

    init(limit: Int = 20) {
        super.init()
    }

    deinit {}

    @discardableResult
    static func load(from path: String) async throws -> Cart {
        func inner() {}
        return Cart()
    }

    subscript(name: String) -> Int {
        items[name] ?? 0
    }
}

struct Point<T> where T: Numeric {
    var x: T
    mutating func move(by d: T) { x += d }
}

enum Level: Int {
    case low, high
}

extension Cart: Equatable {
    public override func isEqual(_ other: Any?) -> Bool { true }
}

typealias Names = [String]

func main(_ arguments: [String]) -> Int { 0 }
